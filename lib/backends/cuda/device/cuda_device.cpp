#include "backends/cuda/device/cuda_device.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <vector>

#include "backends/cuda/device/check.h"
#include "backends/cuda/device/cublaslt.h"
#include "backends/cuda/device/cudnn_runner.h"
#include "backends/cuda/failures.h"
#include "backends/cuda/journal.h"
#include "backends/cuda/spec_text.h"
#include "backends/nvml/sensors.h"
#include "core/error.h"

namespace mpt::gpu {

namespace {

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

// Attributes instead of the fields of cudaDeviceProp that CUDA 13 has dropped.
DeviceInfo info_of(int index) {
    DeviceInfo info;
    info.index = index;
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    info.name = properties.name;
    info.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, index) +
                              attribute(cudaDevAttrComputeCapabilityMinor, index);
    info.num_sms = attribute(cudaDevAttrMultiProcessorCount, index);
    info.sm_clock_khz = attribute(cudaDevAttrClockRate, index);
    info.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, index);
    info.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
    info.l2_bytes = attribute(cudaDevAttrL2CacheSize, index);
    info.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
    info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    int driver = 0, runtime = 0;
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    info.driver = version_text(driver);
    info.runtime = version_text(runtime);
    std::string reason;
    const auto version = [&](const std::string& text) {
        return text == "none" ? text + " (" + reason + ")" : text;
    };
    info.cudnn = version(cudnn_version_text(&reason));
    info.cublas = version(cublaslt_version_text(&reason));
    return info;
}

class CudaEvent final : public Event {
  public:
    explicit CudaEvent(const CudaDevice& device) : device_(device) {
        check_cuda(cudaEventCreate(&event_), "cudaEventCreate");
    }
    ~CudaEvent() override { cudaEventDestroy(event_); }
    void record() override { check_cuda(cudaEventRecord(event_, device_.cuda_stream()), "cudaEventRecord"); }
    void wait() override { check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
    void order_after() override {
        check_cuda(cudaStreamWaitEvent(device_.cuda_stream(), event_, 0), "cudaStreamWaitEvent");
    }
    double ms_since(const Event& earlier) override {
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, dynamic_cast<const CudaEvent&>(earlier).event_, event_),
                   "cudaEventElapsedTime");
        return static_cast<double>(ms);
    }

  private:
    const CudaDevice& device_;
    cudaEvent_t event_ = nullptr;
};

class CudaRecording final : public Recording {
  public:
    CudaRecording(cudaGraph_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {
        check_cuda(cudaGraphInstantiate(&exec_, graph_, 0), "cudaGraphInstantiate");
        check_cuda(cudaGraphGetNodes(graph_, nullptr, &num_nodes_), "cudaGraphGetNodes");
    }
    ~CudaRecording() override {
        cudaGraphExecDestroy(exec_);
        cudaGraphDestroy(graph_);
    }
    void replay() override { check_cuda(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch"); }
    std::size_t num_nodes() const override { return num_nodes_; }

  private:
    cudaGraph_t graph_;
    cudaGraphExec_t exec_ = nullptr;
    cudaStream_t stream_;
    std::size_t num_nodes_ = 0;
};

}  // namespace

bool built_with_cuda() {
    return true;
}

std::string cuda_build_text() {
    return MPT_CUDA_BUILD;
}

DeviceCount count_devices() {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess) {
        cudaGetLastError();  // the next call must not meet it again
        return {0, std::string("no usable NVIDIA GPU: ") + cudaGetErrorString(code)};
    }
    return {count, count == 0 ? "no NVIDIA GPU" : ""};
}

std::unique_ptr<Device> open_device(int index) {
    const DeviceCount found = count_devices();
    if (index >= found.count)
        throw Error(
            ExitCode::kUsage,
            "--device cuda:" + std::to_string(index) + ": " +
                (found.count == 0 ? found.reason : "there are " + std::to_string(found.count) + " GPUs") +
                "; use --device cpu or auto");
    return std::make_unique<CudaDevice>(index);
}

void check_launch(const void*) {
    check_cuda(cudaGetLastError(), "kernel launch");
}

void allow_shared_bytes(const void* kernel, std::size_t bytes) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

CudaDevice::CudaDevice(int index) : Device(info_of(index)) {
    make_current();
    cudaStream_t stream = nullptr, second = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "cudaStreamCreate");
    stream_ = first_stream_ = stream;
    second_stream_ = second;
}

CublasLt& CudaDevice::cublaslt() {
    if (!cublaslt_) cublaslt_ = std::make_unique<CublasLt>();
    return *cublaslt_;
}

CudnnRunner& CudaDevice::cudnn() {
    if (!cudnn_) cudnn_ = std::make_unique<CudnnRunner>(info().index, first_stream_);
    return *cudnn_;
}

CudaDevice::~CudaDevice() {
    cudaStreamSynchronize(cuda_stream());
    cudaStreamSynchronize(static_cast<cudaStream_t>(second_stream_));
    products_.clear();
    convolutions_ = {};
    attentions_ = {};
    cudnn_.reset();
    cublaslt_.reset();
    cudaStreamDestroy(static_cast<cudaStream_t>(second_stream_));
    cudaStreamDestroy(cuda_stream());
}

void CudaDevice::make_current() const {
    check_cuda(cudaSetDevice(info().index), "cudaSetDevice");
}

std::byte* CudaDevice::allocate(std::size_t bytes) {
    make_current();
    void* memory = nullptr;
    const cudaError_t code = cudaMalloc(&memory, bytes);
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw OutOfMemory("out of memory on " + info().name + ": " + std::to_string(bytes >> 20) +
                          " MiB asked for, " + std::to_string(free_bytes() >> 20) + " MiB free");
    }
    check_cuda(code, "cudaMalloc");
    return static_cast<std::byte*>(memory);
}

void CudaDevice::release(std::byte* memory) {
    cudaFree(memory);
}

std::byte* CudaDevice::allocate_pinned(std::size_t bytes) {
    make_current();
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
    return static_cast<std::byte*>(memory);
}

void CudaDevice::release_pinned(std::byte* memory) {
    cudaFreeHost(memory);
}

std::int64_t CudaDevice::free_bytes() {
    make_current();
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free);
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0)
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream()), "cudaMemcpyAsync");
}

void CudaDevice::fill_zero(void* to, std::size_t bytes) {
    if (bytes != 0) check_cuda(cudaMemsetAsync(to, 0, bytes, cuda_stream()), "cudaMemsetAsync");
}

void CudaDevice::synchronize() {
    check_cuda(cudaStreamSynchronize(cuda_stream()), "cudaStreamSynchronize");
    check_cuda(cudaStreamSynchronize(static_cast<cudaStream_t>(second_stream_)), "cudaStreamSynchronize");
}

void CudaDevice::open_range(const std::string& name) {
    nvtxRangePushA(name.c_str());
}

void CudaDevice::close_range() {
    nvtxRangePop();
}

std::unique_ptr<Event> CudaDevice::make_event() {
    return std::make_unique<CudaEvent>(*this);
}

std::unique_ptr<Recording> CudaDevice::capture(const std::function<void()>& work) {
    check_cuda(cudaStreamBeginCapture(cuda_stream(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
        work();
    } catch (...) {
        cudaStreamEndCapture(cuda_stream(), &graph);
        if (graph != nullptr) cudaGraphDestroy(graph);
        throw;
    }
    check_cuda(cudaStreamEndCapture(cuda_stream(), &graph), "cudaStreamEndCapture");
    return std::make_unique<CudaRecording>(graph, cuda_stream());
}

double CudaDevice::median_ms(const std::function<void()>& work, int runs) {
    const std::unique_ptr<Event> begin = make_event(), end = make_event();
    std::vector<double> times;
    work();  // loads code
    for (int i = 0; i < runs; ++i) {
        begin->record();
        work();
        end->record();
        end->wait();
        times.push_back(end->ms_since(*begin));
    }
    std::ranges::nth_element(times, times.begin() + runs / 2);
    return times[static_cast<std::size_t>(runs / 2)];
}

double CudaDevice::time(const std::function<void()>& work, int runs) {
    std::string failure;
    try {
        return median_ms(work, runs);
    } catch (const CallFailed& error) {
        failure = error.what();
    } catch (const OutOfMemory& error) {
        failure = error.what();
    }
    cudaGetLastError();  // the next call must not meet it again
    synchronize();       // throws where the context is lost
    throw CallFailed(failure);
}

Journal& CudaDevice::journal() {
    if (!journal_)
        journal_ = std::make_unique<Journal>(
            settings().journal, journal_machine(info(), settings()) + "|" + nvml::driver_release());
    return *journal_;
}

Planned<ProductArgs> CudaDevice::plan_product(const ProductSpec& spec) {
    make_current();
    if (settings().sizes_only) return cublaslt().plan(*this, spec);
    const std::string key = text_of(spec);
    const auto found = products_.find(key);
    if (found != products_.end()) return found->second;
    return products_[key] = cublaslt().plan(*this, spec);
}

Planned<ConvolutionArgs> CudaDevice::plan_convolution(const ConvolutionSpec& spec) {
    make_current();
    ConvolutionSpec any_batch = spec;
    any_batch.n = 0;
    return convolutions_.plan(settings().sizes_only, text_of(spec), text_of(any_batch),
                              [&] { return gpu::plan_convolution(cudnn(), *this, spec); });
}

Planned<AttentionArgs> CudaDevice::plan_attention(const AttentionSpec& spec) {
    make_current();
    AttentionSpec any_batch = spec;
    any_batch.batch = 0;
    return attentions_.plan(settings().sizes_only, text_of(spec), text_of(any_batch),
                            [&] { return gpu::plan_attention(cudnn(), *this, spec); });
}

Planned<PoolArgs> CudaDevice::plan_pool(const PoolSpec& spec, const OwnKernel<PoolArgs>& own) {
    make_current();
    PoolSpec any_batch = spec;
    any_batch.n = 0;
    return pools_.plan(settings().sizes_only, text_of(spec), text_of(any_batch),
                       [&] { return gpu::plan_pool(cudnn(), *this, spec, own); });
}

Planned<NormArgs> CudaDevice::plan_norm(const NormSpec& spec, const OwnKernel<NormArgs>& own) {
    make_current();
    NormSpec any_batch = spec;
    any_batch.n = 0;
    return norms_.plan(settings().sizes_only, text_of(spec), text_of(any_batch),
                       [&] { return gpu::plan_norm(cudnn(), *this, spec, own); });
}

}  // namespace mpt::gpu
