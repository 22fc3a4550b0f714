// One device as the rest of the trainer sees it: memory, an ordered stream of work and a second one beside
// it, capture and replay, and the vendor's products and convolutions. Two implementations: an NVIDIA GPU
// (cuda_device.cpp) and a twin on the CPU for tests (host_twin/), which runs the same kernel sources one
// fiber a thread. No CUDA headers here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace mpt::gpu {

struct DeviceInfo {
    int index = 0;
    std::string name;
    int compute_capability = 0;  // 75, 80, ... 120; of the twin: 90
    int num_sms = 1;
    int sm_clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t shared_bytes_per_block = 48 * 1024;
    bool host_memory = false;                    // the host may read and write the device's memory
    std::string driver, runtime, cudnn, cublas;  // versions
};

// Products of fp8: both factors e4m3, as forward, or a gradient in e5m2 by e4m3.
enum class Fp8 : std::uint8_t { kNone, kE4m3, kE5m2 };

// A product row-major: d[m,n] = a b (+ bias[n]) (+ d), a [m,k] or with `transposed_a` [k,m], b [k,n] or with
// `transposed_b` [n,k]. Sums in f32, rounded once on store.
struct ProductSpec {
    std::int64_t m = 0, n = 0, k = 0;
    bool transposed_a = false, transposed_b = false;
    DType input = DType::f32;   // of a and b
    DType output = DType::f32;  // of d
    bool bias = false;          // f32 [n]
    bool accumulate = false;    // adds to d
    bool tf32 = false;          // f32 inputs may be rounded to tf32
    // d = (a b) gelu'(x) instead, x [m,n] of d's type: the gradient through gelu (of the tanh form) in
    // passing.
    bool gelu_gradient = false;
    // d = gelu(a b + bias) in the tanh form, and what gelu is of goes to aux: the forward half of the same.
    bool gelu = false;
    // Also the sums of op(a) over k: of a weight gradient the gradient of the bias, f32 [m].
    bool bias_gradient = false;
    // Not kNone: what a holds instead of `input`; b holds e4m3 then, and is transposed, n and k are multiples
    // of 16, and the product is multiplied by scale_a and scale_b where they are given.
    Fp8 fp8 = Fp8::kNone;
    bool operator==(const ProductSpec&) const = default;
};
struct ProductArgs {
    const void *a = nullptr, *b = nullptr;
    void* d = nullptr;
    const float* bias = nullptr;
    void* workspace = nullptr;
    const void* x = nullptr;                             // of gelu_gradient
    void* aux = nullptr;                                 // of gelu, [m,n] of d's type
    float* bias_gradient = nullptr;                      // [m]
    const float *scale_a = nullptr, *scale_b = nullptr;  // one number each, on the device
};

enum class ConvolutionKind : std::uint8_t { kForward, kBackwardData, kBackwardWeight };

// What a convolution does in passing.
struct ConvolutionFusion {
    bool affine = false, relu = false;  // forward and weight: x is relu?(scale x + shift), never stored
    bool statistics = false;            // forward: sum and sum of squares of y a channel
    bool add = false;                   // data: + addend
    bool mask = false;                  // data: 0 where `masked` (with `affine`: scale masked + shift) <= 0
    bool reductions = false;            // data: sum(result) and sum(result * masked) a channel
    int references = 0;                 // data: sum(result) and sum(result * reference) for so many, up to 2
    bool operator==(const ConvolutionFusion&) const = default;
};

// x [n,h,w,c], weights [k,r,s,c], y [n,p,q,k], all of one type; symmetric padding. A weight gradient has the
// type of the data as well: no library writes it in f32 from narrow inputs.
struct ConvolutionSpec {
    ConvolutionKind kind = ConvolutionKind::kForward;
    std::int64_t n = 0, h = 0, w = 0, c = 0, k = 0, r = 0, s = 0, p = 0, q = 0;
    std::int64_t stride = 1, pad = 0;
    DType dtype = DType::f32;
    bool tf32 = false;
    ConvolutionFusion fusion;
    bool operator==(const ConvolutionSpec&) const = default;
};
// Forward: (x, weights) -> y; backward data: (y, weights) -> x; backward weight: (y, x) -> weights.
struct ConvolutionArgs {
    const void *first = nullptr, *second = nullptr;
    void* result = nullptr;
    void* workspace = nullptr;
    // Of a fusion; vectors are f32 [channels], `sums` is [2, channels], or [1 + references, channels].
    const float *scale = nullptr, *shift = nullptr;
    const void *addend = nullptr, *masked = nullptr;
    const void* references[2] = {};
    float* sums = nullptr;
};

// softmax(q k^T / sqrt(size)) v for each head, or its gradients. q [batch, queries, heads, size], k and v
// [batch, keys, heads, size]; from a position to the next there are `q_row` (`k_row`, `v_row`) elements, of a
// gradient as of what it is the gradient of; o and its gradient are packed. Key j is seen by query t where
// j < lengths[batch] (with `lengths`) and j <= t (with `causal`, which wants as many keys as queries).
struct AttentionSpec {
    bool backward = false;
    std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, size = 0;
    std::int64_t q_row = 0, k_row = 0, v_row = 0;
    bool causal = false, lengths = false;
    DType dtype = DType::f32;
    bool operator==(const AttentionSpec&) const = default;
};
// Forward: (q, k, v) -> o, logsumexp f32 [batch, heads, queries]; backward: also (o, logsumexp, grad_o) ->
// grad_q, grad_k, grad_v. Lengths of keys are 1 or more; those of queries are all `queries`: no library takes
// the ones without the others.
struct AttentionArgs {
    const void *q = nullptr, *k = nullptr, *v = nullptr;
    const std::int32_t *query_lengths = nullptr, *key_lengths = nullptr;
    void* o = nullptr;
    float* logsumexp = nullptr;
    const void* grad_o = nullptr;
    void *grad_q = nullptr, *grad_k = nullptr, *grad_v = nullptr;
    void* workspace = nullptr;
};

// Windows of images [n,h,w,c] -> [n,p,q,c], a pixel of the result each: their greatest values, with u8 places
// r * window_w + s in the window (the first of equal ones; padding never), or with `average` their means.
// Backward: the gradient of the images from that of the result and, of greatest values, the places.
struct PoolSpec {
    bool backward = false, average = false;
    std::int64_t n = 0, h = 0, w = 0, c = 0, p = 0, q = 0;
    std::int64_t window_h = 0, window_w = 0, stride = 1, pad = 0;
    bool affine = false, relu = false;  // forward: of relu?(scale x + shift), never stored
    DType dtype = DType::f32;
    bool operator==(const PoolSpec&) const = default;
};
struct PoolArgs {
    const void* from = nullptr;  // images, or the gradient of the result
    void* to = nullptr;
    void* index = nullptr;                           // u8 [n,p,q,c], written forward
    const float *scale = nullptr, *shift = nullptr;  // [c]
    void* workspace = nullptr;
};

// Batch norm of images by the statistics of the batch, then + addend and max(0, .); mean and rstd = 1 /
// sqrt(biased variance + epsilon) go to vectors. Backward: without addend and relu, from mean and rstd.
struct NormSpec {
    bool backward = false;
    std::int64_t n = 0, h = 1, w = 1, c = 0;
    bool add = false, relu = false;  // forward
    double epsilon = 1e-5;
    DType dtype = DType::f32;
    bool operator==(const NormSpec&) const = default;
};
// Vectors are f32 [c].
struct NormArgs {
    const void *x = nullptr, *grad_y = nullptr, *addend = nullptr;
    const float *gamma = nullptr, *beta = nullptr;
    void* result = nullptr;                  // y, or the gradient of x
    float *mean = nullptr, *rstd = nullptr;  // written forward, read backward
    float *grad_gamma = nullptr, *grad_beta = nullptr;
    float *scale = nullptr, *shift = nullptr;  // y = scale x + shift: no library writes them
    void* workspace = nullptr;
};

// A kernel of ours that does what a library is asked for; timed beside it.
template <typename Args>
struct OwnKernel {
    std::function<void(const Args&)> run;
    std::size_t workspace_bytes = 0;
};

// A planned call of a library; runs on the device's stream. `refusal` says why there is none.
template <typename Args>
struct Planned {
    std::function<void(const Args&)> run;
    std::size_t workspace_bytes = 0;
    std::string description;
    std::string refusal;
    explicit operator bool() const { return static_cast<bool>(run); }
};

// What capture() recorded. Must not outlive its device.
class Recording {
  public:
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    virtual ~Recording() = default;
    virtual void replay() = 0;  // enqueues everything again; addresses are those of the capture
    virtual std::size_t num_nodes() const = 0;
};

// A point in a stream. Before it is recorded nothing waits for it.
class Event {
  public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    virtual ~Event() = default;
    virtual void record() = 0;       // in the stream that work goes to at this moment
    virtual void wait() = 0;         // the host waits until its stream has passed it
    virtual void order_after() = 0;  // work that is enqueued from now on runs after it
    virtual double ms_since(const Event& earlier) = 0;
};

// How one of the libraries' candidates is taken for a call: the first of their heuristics (off); the one the
// journal holds, or else the first (heuristic), or else the fastest of those timed on the device (measure).
enum class Autotune : std::uint8_t { kOff, kHeuristic, kMeasure };

// What a run wants of the libraries.
struct DeviceSettings {
    bool tf32 = false;          // products and convolutions of f32 may round their inputs to tf32
    bool deterministic = true;  // no algorithm whose bits differ from run to run
    Autotune autotune = Autotune::kOff;
    std::int64_t workspace_bytes = std::int64_t{256} << 20;  // most that a call may take
    std::string journal;                                     // file that keeps measured choices; empty: none
    // Plans are for their sizes alone and never run: nothing is timed, and what was planned for another batch
    // stands for what is asked, as planning may take seconds a call.
    bool sizes_only = false;
};

class Device {
  public:
    explicit Device(DeviceInfo info) : info_(std::move(info)) {}
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;
    const DeviceInfo& info() const { return info_; }

    // Aligned to 256 bytes, contents undefined. Throws Error(kResource) with what was asked and what is free.
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* memory) = 0;
    // Host memory that copies need not go through a buffer of the driver.
    virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
    virtual void release_pinned(std::byte* memory) = 0;
    virtual std::int64_t free_bytes() = 0;

    // In the order of the stream; between any memories of host and device.
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
    virtual void fill_zero(void* to, std::size_t bytes) = 0;
    virtual void synchronize() = 0;  // throws what a kernel did wrong
    virtual std::unique_ptr<Event> make_event() = 0;
    // What `work` enqueues goes to a second stream, which runs beside the first: only events order the two.
    void beside(const std::function<void()>& work);
    // A name that profilers show around what is enqueued, or launched again, while the range is open.
    virtual void open_range(const std::string&) {}
    virtual void close_range() {}
    // Records what `work` enqueues instead of running it.
    virtual std::unique_ptr<Recording> capture(const std::function<void()>& work) = 0;

    // Never throw for what a library refuses. Reserve nothing beyond the workspace they tell.
    virtual Planned<ProductArgs> plan_product(const ProductSpec& spec) = 0;
    virtual Planned<ConvolutionArgs> plan_convolution(const ConvolutionSpec& spec) = 0;
    virtual Planned<AttentionArgs> plan_attention(const AttentionSpec& spec) = 0;
    // Only where the library was measured to be faster than `own`, which is also what is taken where nothing
    // was measured.
    virtual Planned<PoolArgs> plan_pool(const PoolSpec&, const OwnKernel<PoolArgs>&) {
        return without_library<PoolArgs>();
    }
    virtual Planned<NormArgs> plan_norm(const NormSpec&, const OwnKernel<NormArgs>&) {
        return without_library<NormArgs>();
    }

    const DeviceSettings& settings() const { return settings_; }
    void set(const DeviceSettings& settings) { settings_ = settings; }

    void* stream() const { return stream_; }  // a cudaStream_t; of the twin its queue

  protected:
    template <typename Args>
    static Planned<Args> without_library() {
        Planned<Args> planned;
        planned.refusal = "this device has no library for it";
        return planned;
    }
    void* stream_ = nullptr;
    void* second_stream_ = nullptr;

  private:
    DeviceInfo info_;
    DeviceSettings settings_;
};

// The device that kernels are asked about and prepared for, by this thread, while the scope lasts. A prepared
// kernel keeps it: it must outlive them.
class DeviceScope {
  public:
    explicit DeviceScope(Device* device);  // null: the CPU
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    Device* before_;
};
Device* current_device();  // null: none

// A named range while the scope lasts; without a device nothing.
class RangeScope {
  public:
    RangeScope(Device* device, const std::string& name) : device_(device) {
        if (device_ != nullptr) device_->open_range(name);
    }
    ~RangeScope() {
        if (device_ != nullptr) device_->close_range();
    }
    RangeScope(const RangeScope&) = delete;
    RangeScope& operator=(const RangeScope&) = delete;

  private:
    Device* device_;
};

// Device memory with an owner.
class Memory {
  public:
    Memory() = default;
    Memory(Device& device, std::size_t bytes);
    ~Memory();
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

  private:
    Device* device_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// A constant table on the device, shared between copies of a prepared kernel.
template <typename T>
std::shared_ptr<Memory> upload(Device& device, const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    auto memory = std::make_shared<Memory>(device, bytes);
    device.copy(memory->data(), values.data(), bytes);
    device.synchronize();
    return memory;
}

// Throws InternalError where a GPU would refuse the launch: no blocks, more than its grid takes, or more
// shared memory than a block of this device may have.
void check_limits(const Device& device, std::int64_t blocks, std::int64_t blocks_y, int threads,
                  std::size_t shared_bytes);

// How many GPUs there are, and why there are none.
struct DeviceCount {
    int count = 0;
    std::string reason;  // when 0
};
bool built_with_cuda();
// "built for 90-real;90-virtual by CUDA 13.0.88", or "not built: " and why.
std::string cuda_build_text();
DeviceCount count_devices();
// Throws Error(kUsage) saying why there is no such device.
std::unique_ptr<Device> open_device(int index);

}  // namespace mpt::gpu
