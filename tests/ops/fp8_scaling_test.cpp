// The delayed scale of an fp8 tensor, use by use, on the CPU, in the reference and on the host twin.
// Reference: the rule of ops/quantize_fp8/scaling_rule.h worked out by hand.
#include <catch2/catch.hpp>
#include <limits>

#include "backends/cuda/host_twin/host_twin.h"
#include "graph/gpu_kernels.h"
#include "ops/quantize_fp8/quantize_fp8.h"
#include "support/device_mirror.h"

using namespace mpt;

namespace {

constexpr std::int64_t kHistory = 3, kColumns = 16;

// One tensor that is quantised again and again.
class Quantised {
  public:
    Quantised(const KernelTable& kernels, gpu::Device* device) : device_(device) {
        signature_.op = &quantize_fp8_op;
        signature_.attributes = QuantizeFp8Attributes{DType::e4m3, true, false, 0};
        signature_.inputs = {{{1, kColumns}, DType::f32}, {{2 + kHistory}, DType::f32}};
        signature_.present = {true, true};
        signature_.outputs = quantize_fp8_op.infer(signature_.attributes, signature_.inputs);
        const gpu::DeviceScope scope(device);
        kernel_ = choose_kernel(kernels, signature_, nullptr)->prepare(signature_);
        for (const TensorType& type :
             {signature_.in(0), signature_.in(1), signature_.out(1), signature_.out(2)})
            buffers_.push_back(std::make_unique<test::GuardedBuffer>(static_cast<std::size_t>(type.bytes())));
        buffers_[1]->write(DType::f32, std::vector<double>(2 + kHistory, 0.0));
        workspace_ = std::make_unique<test::GuardedBuffer>(kernel_.workspace_bytes);
    }
    struct Use {
        double scale, first;  // that was used; the first element times it, rounded
    };
    // The first element is `value`, the others are smaller.
    Use use(double value) {
        std::vector<double> x(kColumns, 0.0);
        x[0] = value;
        x[1] = std::isfinite(value) ? value / 8 : 1;
        buffers_[0]->write(DType::f32, x);
        void* in[] = {buffers_[0]->data(), buffers_[1]->data()};
        void* out[] = {buffers_[1]->data(), buffers_[2]->data(), buffers_[3]->data()};
        test::run_on(
            device_, kernel_, {in, out, workspace_->data()},
            {buffers_[0].get(), buffers_[1].get(), buffers_[2].get(), buffers_[3].get(), workspace_.get()});
        return {1 / buffers_[2]->read(signature_.out(1))[0], buffers_[3]->read(signature_.out(2))[0]};
    }
    std::vector<double> state() const { return buffers_[1]->read(signature_.in(1)); }

  private:
    gpu::Device* device_;
    Signature signature_;
    PreparedKernel kernel_;
    std::vector<std::unique_ptr<test::GuardedBuffer>> buffers_;
    std::unique_ptr<test::GuardedBuffer> workspace_;
};

void check_trace(const KernelTable& kernels, gpu::Device* device) {
    Quantised q(kernels, device);
    const auto check = [&](double value, double scale, double first) {
        CAPTURE(value);
        const Quantised::Use use = q.use(value);
        CHECK(use.scale == scale);
        if (std::isfinite(value))
            CHECK(use.first == first);
        else
            CHECK(std::isnan(use.first));
    };
    check(0, 1, 0);  // nothing to go by: the next use is still a first one
    CHECK(q.state()[0] == 0);
    check(7, 64, 448);   // its own magnitude: 7 * 64 = 448
    check(28, 64, 448);  // grew fourfold: saturates, as the scale is of the use before
    check(28, 16, 448);  // and fits a use later
    check(1, 16, 16);    // the history still has 28 in it
    check(1, 16, 16);
    check(1, 16, 16);  // three uses of it: now it has not
    check(1, 256, 256);
    check(std::numeric_limits<double>::infinity(), 256, 0);  // NaN, and no trace in the state
    CHECK(q.state() == std::vector<double>{256, 2, 1, 1, 1});
    check(std::numeric_limits<double>::quiet_NaN(), 256, 0);
    CHECK(q.state() == std::vector<double>{256, 2, 1, 1, 1});
    for (int i = 0; i < 4; ++i) check(0, 256, 0);
    CHECK(q.state()[0] == 256);  // zeros tell nothing
    check(0.4375, 256, 112);
    check(0.4375, 1024, 448);
}

}  // namespace

TEST_CASE("an fp8 scale follows the greatest magnitude of the last uses, one use late") {
    check_trace(cpu_kernels(), nullptr);
    check_trace(reference_kernels(), nullptr);
    for (const bool last_first : {false, true}) {
        gpu::HostTwin twin(last_first);
        check_trace(cuda_host_kernels(), &twin);
    }
}
