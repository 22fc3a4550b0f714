#include "backends/cuda/host_twin/host_twin.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "backends/cuda/host_twin/library_calls.h"
#include "core/error.h"

namespace mpt::gpu {

namespace {

constexpr std::size_t kGuard = 256;
constexpr std::byte kMark{0xa5};

DeviceInfo twin_info(TwinOrder order, std::int64_t shared_bytes_per_block) {
    DeviceInfo info;
    info.name = "host twin";
    info.compute_capability = 90;
    info.num_sms = 2;
    info.host_memory = order == TwinOrder::kAtOnce;
    info.shared_bytes_per_block = shared_bytes_per_block;
    info.memory_bytes = std::int64_t{1} << 34;
    info.driver = info.runtime = info.cudnn = info.cublas = "none";
    return info;
}

class TwinRecording final : public Recording {
  public:
    TwinRecording(std::vector<std::function<void()>> work, emulator::Queue& queue)
        : work_(std::move(work)), queue_(queue) {}
    void replay() override {
        for (const auto& step : work_) queue_.submit(step);
    }
    std::size_t num_nodes() const override { return work_.size(); }

  private:
    std::vector<std::function<void()>> work_;
    emulator::Queue& queue_;
};

class TwinEvent final : public Event {
  public:
    explicit TwinEvent(HostTwin& twin) : twin_(twin), state_(std::make_shared<State>()) {}
    void record() override {
        MPT_CHECK(!queue().recording, "an event inside a recording");
        const std::int64_t number = ++num_recorded_;
        queue().submit([state = state_, number] {
            state->num_passed = number;
            state->at = std::chrono::steady_clock::now();
        });
    }
    void wait() override {
        twin_.check_not_capturing("the host waiting for an event");
        twin_.run_until(passed(num_recorded_));
    }
    void order_after() override {
        twin_.check_not_capturing("an event of outside");
        queue().hold_until(passed(num_recorded_));
    }
    double ms_since(const Event& earlier) override {
        const auto& other = dynamic_cast<const TwinEvent&>(earlier);
        return std::chrono::duration<double, std::milli>(state_->at - other.state_->at).count();
    }

  private:
    struct State {
        std::int64_t num_passed = 0;
        std::chrono::steady_clock::time_point at{};
    };
    emulator::Queue& queue() const { return *static_cast<emulator::Queue*>(twin_.stream()); }
    std::function<bool()> passed(std::int64_t number) const {
        return [state = state_, number] { return state->num_passed >= number; };
    }

    HostTwin& twin_;
    std::shared_ptr<State> state_;
    std::int64_t num_recorded_ = 0;
};

}  // namespace

struct HostTwin::Allocation {
    std::unique_ptr<std::byte[]> block;
    std::byte* data = nullptr;
    std::size_t bytes = 0;

    explicit Allocation(std::size_t n) : block(new std::byte[n + 3 * kGuard]), bytes(n) {
        const auto address = reinterpret_cast<std::uintptr_t>(block.get()) + kGuard;
        data = reinterpret_cast<std::byte*>((address + kGuard - 1) / kGuard * kGuard);
        std::fill_n(data - kGuard, kGuard, kMark);
        std::fill_n(data, n, std::byte{0xff});  // NaN in every floating type
        std::fill_n(data + n, kGuard, kMark);
    }
    bool intact() const {
        const auto marked = [](std::byte byte) { return byte == kMark; };
        return std::all_of(data - kGuard, data, marked) &&
               std::all_of(data + bytes, data + bytes + kGuard, marked);
    }
};

HostTwin::HostTwin(bool last_first, TwinOrder order, std::int64_t shared_bytes_per_block)
    : Device(twin_info(order, shared_bytes_per_block)), order_(order) {
    for (emulator::Queue* queue : {&queue_, &second_queue_}) {
        queue->last_first = last_first;
        queue->deferred = order != TwinOrder::kAtOnce;
    }
    stream_ = &queue_;
    second_stream_ = &second_queue_;
}

HostTwin::~HostTwin() = default;

// What CUDA forbids, or what would be left out of a recording, while a stream is captured.
void HostTwin::check_not_capturing(const char* what) const {
    MPT_CHECK(!queue_.recording, std::string(what) + " inside a capture");
}

std::byte* HostTwin::allocate(std::size_t bytes) {
    check_not_capturing("an allocation");
    if (static_cast<std::int64_t>(bytes) > free_bytes())
        throw Error(ExitCode::kResource,
                    "out of memory on the host twin: " + std::to_string(bytes) + " bytes asked for");
    auto allocation = std::make_unique<Allocation>(bytes);
    std::byte* data = allocation->data;
    allocations_[data] = std::move(allocation);
    return data;
}

// As cudaFree: what was enqueued before still has the memory. A fault of it is told at the next
// synchronisation that has something to run.
void HostTwin::release(std::byte* memory) {
    check_not_capturing("a release of memory");
    try {
        while (step()) {
        }
    } catch (const InternalError& error) {
        queue_.waiting.push_front({[what = std::string(error.what())] { throw InternalError(what); }, {}});
    }
    allocations_.erase(memory);
}

bool HostTwin::step() {
    emulator::Queue* order[] = {&queue_, &second_queue_};
    if (order_ == TwinOrder::kSecondStreamAhead) std::swap(order[0], order[1]);
    return order[0]->step() || order[1]->step();
}

void HostTwin::run_until(const std::function<bool()>& reached) {
    while (!reached())
        MPT_CHECK(step(), "the streams wait for each other, or for an event that nobody recorded");
}

const std::vector<std::string>& HostTwin::ranges() const {
    MPT_CHECK(num_closed_ == ranges_.size(), "a range that was not closed");
    return ranges_;
}

std::int64_t HostTwin::free_bytes() {
    std::int64_t used = 0;
    for (const auto& [data, allocation] : allocations_) used += static_cast<std::int64_t>(allocation->bytes);
    return info().memory_bytes - used;
}

void HostTwin::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) current().submit([=] { std::memcpy(to, from, bytes); });
}

void HostTwin::fill_zero(void* to, std::size_t bytes) {
    if (bytes != 0) current().submit([=] { std::memset(to, 0, bytes); });
}

void HostTwin::synchronize() {
    check_not_capturing("a synchronisation");
    ++num_synchronizations_;
    run_until([this] { return queue_.waiting.empty() && second_queue_.waiting.empty(); });
    for (const auto& [data, allocation] : allocations_)
        if (!allocation->intact())
            throw InternalError("kernel fault: written outside an allocation of " +
                                std::to_string(allocation->bytes) + " bytes");
}

std::unique_ptr<Event> HostTwin::make_event() {
    return std::make_unique<TwinEvent>(*this);
}

std::unique_ptr<Recording> HostTwin::capture(const std::function<void()>& work) {
    MPT_CHECK(!queue_.recording, "a capture within a capture");
    MPT_CHECK(stream_ == &queue_, "a capture of the second stream");
    queue_.recording = true;
    second_queue_.closed = true;  // its work would be no part of the recording
    queue_.recorded.clear();
    try {
        work();
    } catch (...) {
        queue_.recording = second_queue_.closed = false;
        throw;
    }
    queue_.recording = second_queue_.closed = false;
    return std::make_unique<TwinRecording>(std::move(queue_.recorded), queue_);
}

Planned<ProductArgs> HostTwin::plan_product(const ProductSpec& spec) {
    Planned<ProductArgs> plan;
    // As cuBLASLt's.
    if (spec.fp8 != Fp8::kNone && (spec.transposed_a || !spec.transposed_b))
        plan.refusal = "multiplies fp8 only with b transposed";
    else if (spec.fp8 != Fp8::kNone && (spec.n % 16 != 0 || spec.k % 16 != 0))
        plan.refusal = "multiplies fp8 only in sizes that are multiples of 16";
    else if (spec.fp8 != Fp8::kNone && (spec.gelu || spec.gelu_gradient || spec.bias_gradient))
        plan.refusal = "takes nothing into a product of fp8 but its bias";
    else if ((spec.gelu || spec.gelu_gradient) && spec.n % 8 != 0)
        plan.refusal = "takes gelu into products whose rows are multiples of 8";
    if (!plan.refusal.empty()) return plan;
    plan.description = "host loops for cublasLt";
    plan.run = [spec, queue = &queue_](const ProductArgs& args) {
        queue->submit([spec, args] { host_product(spec, args); });
    };
    return plan;
}

Planned<ConvolutionArgs> HostTwin::plan_convolution(const ConvolutionSpec& spec) {
    Planned<ConvolutionArgs> plan;
    // What cuDNN has no kernel for, so that both ways of a graph are trained.
    const ConvolutionFusion& f = spec.fusion;
    if (spec.dtype != DType::f16 && (f.affine || f.reductions)) plan.refusal = "takes this fusion in f16";
    if (spec.dtype == DType::f32 && f != ConvolutionFusion{}) plan.refusal = "fuses nothing in f32";
    if (!plan.refusal.empty()) return plan;
    plan.description = "host loops for cudnn";
    plan.run = [spec, queue = &queue_](const ConvolutionArgs& args) {
        queue->submit([spec, args] { host_convolution(spec, args); });
    };
    return plan;
}

Planned<AttentionArgs> HostTwin::plan_attention(const AttentionSpec& spec) {
    Planned<AttentionArgs> plan;
    if (spec.dtype == DType::f32) {
        plan.refusal = "takes f16 and bf16, as cuDNN's";
        return plan;
    }
    plan.description = "host loops for cudnn";
    plan.run = [spec, queue = &queue_](const AttentionArgs& args) {
        queue->submit([spec, args] { host_attention(spec, args); });
    };
    return plan;
}

Planned<PoolArgs> HostTwin::plan_pool(const PoolSpec& spec, const OwnKernel<PoolArgs>&) {
    Planned<PoolArgs> plan;
    // As if it had been timed: so that both are trained.
    if (spec.dtype == DType::f16) {
        plan.refusal = "is slower in f16";
        return plan;
    }
    plan.description = "host loops for cudnn";
    plan.run = [spec, queue = &queue_](const PoolArgs& args) {
        queue->submit([spec, args] { host_pool(spec, args); });
    };
    return plan;
}

Planned<NormArgs> HostTwin::plan_norm(const NormSpec& spec, const OwnKernel<NormArgs>&) {
    Planned<NormArgs> plan;
    if (spec.dtype == DType::f16) {
        plan.refusal = "is slower in f16";
        return plan;
    }
    plan.description = "host loops for cudnn";
    plan.run = [spec, queue = &queue_](const NormArgs& args) {
        queue->submit([spec, args] { host_norm(spec, args); });
    };
    return plan;
}

}  // namespace mpt::gpu
