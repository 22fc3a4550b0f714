// An NVIDIA GPU behind the interface of device.h.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>

#include "backends/cuda/device.h"

namespace mpt::gpu {

class CublasLt;
class CudnnRunner;
class Journal;

// Calls that are planned once: a refusal is asked for before a kernel is prepared.
template <typename Args>
class PlannedCalls {
  public:
    // `any_batch` is the call's key without its batch.
    template <typename Make>
    Planned<Args> plan(bool sizes_only, const std::string& key, const std::string& any_batch,
                       const Make& make) {
        const auto& known = sizes_only ? of_any_batch_ : of_call_;
        const auto found = known.find(sizes_only ? any_batch : key);
        if (found != known.end()) return found->second;
        const Planned<Args> made = make();
        if (!sizes_only) of_call_[key] = made;
        return of_any_batch_[any_batch] = made;
    }

  private:
    std::map<std::string, Planned<Args>> of_call_, of_any_batch_;
};

class CudaDevice final : public Device {
  public:
    explicit CudaDevice(int index);
    ~CudaDevice() override;

    std::byte* allocate(std::size_t bytes) override;
    void release(std::byte* memory) override;
    std::byte* allocate_pinned(std::size_t bytes) override;
    void release_pinned(std::byte* memory) override;
    std::int64_t free_bytes() override;
    void copy(void* to, const void* from, std::size_t bytes) override;
    void fill_zero(void* to, std::size_t bytes) override;
    void synchronize() override;
    std::unique_ptr<Event> make_event() override;
    void open_range(const std::string& name) override;  // NVTX
    void close_range() override;
    std::unique_ptr<Recording> capture(const std::function<void()>& work) override;
    Planned<ProductArgs> plan_product(const ProductSpec& spec) override;
    Planned<ConvolutionArgs> plan_convolution(const ConvolutionSpec& spec) override;
    Planned<AttentionArgs> plan_attention(const AttentionSpec& spec) override;
    Planned<PoolArgs> plan_pool(const PoolSpec& spec, const OwnKernel<PoolArgs>& own) override;
    Planned<NormArgs> plan_norm(const NormSpec& spec, const OwnKernel<NormArgs>& own) override;

    cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(stream_); }
    // Median of `runs` timings, in ms. Throws CallFailed where a library's call fails and the device works
    // on.
    double time(const std::function<void()>& work, int runs);
    Journal& journal();

  private:
    void make_current() const;
    double median_ms(const std::function<void()>& work, int runs);
    // Opened when the first call is planned: a GPU without them can be listed.
    CublasLt& cublaslt();
    CudnnRunner& cudnn();

    cudaStream_t first_stream_ = nullptr;
    std::unique_ptr<CublasLt> cublaslt_;
    std::unique_ptr<CudnnRunner> cudnn_;
    std::unique_ptr<Journal> journal_;
    std::map<std::string, Planned<ProductArgs>> products_;
    PlannedCalls<ConvolutionArgs> convolutions_;
    PlannedCalls<AttentionArgs> attentions_;
    PlannedCalls<PoolArgs> pools_;
    PlannedCalls<NormArgs> norms_;
};

}  // namespace mpt::gpu
