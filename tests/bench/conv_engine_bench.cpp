// Speed of the fused convolutions on the layers of ResNet-50 (224, batch 16) and ResNet-20 (28x28x1, batch
// 128), with the prologues and epilogues that training gives them.
//   conv_engine_bench [resnet50|resnet20|both] [f32|f16|bf16] [rounds] [threads] [layer name] [data|weight]
// On a busy machine, CONV_BENCH_PROCESSOR_TIME=1 OMP_WAIT_POLICY=passive measures the processor's time over
// the threads in place of the clock on the wall: what the work costs without waiting for others. The last two
// pick layers by a part of their name, and one of the two gradients.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/conv_engine.h"
#include "backends/cpu/threads.h"

namespace mpt::cpu {
namespace {

// What a convolution reads: the data set, a block's output, or another convolution's output before its batch
// norm.
enum class Input { kImages, kBlock, kConvolution };

bool processor_time() {
    return std::getenv("CONV_BENCH_PROCESSOR_TIME") != nullptr;
}

struct Layer {
    std::string name;
    int count = 1;
    ConvShape shape;
    Input input = Input::kConvolution;
};

Layer layer(int count, std::int64_t batch, std::int64_t size, std::int64_t in, std::int64_t out,
            std::int64_t kernel, std::int64_t stride, Input input) {
    Layer result{std::to_string(in) + "-" + std::to_string(out) + " @" + std::to_string(size) + " " +
                     std::to_string(kernel) + "x" + std::to_string(kernel) + (stride == 2 ? " s2" : ""),
                 count,
                 {batch, size, size, in, out, kernel, kernel, stride, kernel / 2},
                 input};
    return result;
}

std::vector<Layer> resnet50(std::int64_t batch) {
    std::vector<Layer> layers = {layer(1, batch, 224, 3, 64, 7, 2, Input::kImages)};
    std::int64_t in = 64, size = 56;
    const int blocks[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage) {
        const std::int64_t width = 64 << stage, stride = stage == 0 ? 1 : 2;
        layers.push_back(layer(1, batch, size, in, width, 1, 1, Input::kBlock));
        layers.push_back(
            layer(stage == 0 ? 3 : 1, batch, size, width, width, 3, stride, Input::kConvolution));
        layers.push_back(layer(1, batch, size, in, 4 * width, 1, stride, Input::kBlock));
        size /= stride;
        in = 4 * width;
        layers.push_back(layer(blocks[stage], batch, size, width, in, 1, 1, Input::kConvolution));
        layers.push_back(layer(blocks[stage] - 1, batch, size, in, width, 1, 1, Input::kBlock));
        if (stage > 0)
            layers.push_back(layer(blocks[stage] - 1, batch, size, width, width, 3, 1, Input::kConvolution));
    }
    return layers;
}

std::vector<Layer> resnet20(std::int64_t batch) {
    std::vector<Layer> layers = {layer(1, batch, 28, 1, 16, 3, 1, Input::kImages)};
    for (int stage = 0; stage < 3; ++stage) {
        const std::int64_t width = 16 << stage, size = 28 >> stage;
        if (stage > 0) {
            layers.push_back(layer(1, batch, size * 2, width / 2, width, 3, 2, Input::kBlock));
            layers.push_back(layer(1, batch, size * 2, width / 2, width, 1, 2, Input::kBlock));
        }
        layers.push_back(layer(stage == 0 ? 3 : 2, batch, size, width, width, 3, 1, Input::kBlock));
        layers.push_back(layer(3, batch, size, width, width, 3, 1, Input::kConvolution));
    }
    return layers;
}

// On huge pages, as the arena of a plan is.
struct Memory {
    explicit Memory(std::size_t bytes) {
        const std::size_t page = std::size_t{2} << 20, size = (bytes + page) / page * page;
        data.reset(static_cast<char*>(std::aligned_alloc(page, size)));
        madvise(data.get(), size, MADV_HUGEPAGE);
        std::memset(data.get(), 0x2c, size);  // small positive values in every storage type
    }
    struct Free {
        void operator()(char* p) const { std::free(p); }
    };
    std::unique_ptr<char, Free> data;
};

// One layer with tensors of its own, so that it finds them as cold as in training.
class Bench {
  public:
    Bench(const Layer& layer, DType type, int threads, const std::string& part, Memory& gradients,
          Memory& workspace)
        : threads_(threads),
          layer_(layer),
          forward_(forward_spec(layer, type), threads),
          backward_(backward_spec(layer, type, part), threads),
          x_(input_elements() * size_of(type)),
          y_(output_elements() * size_of(type)),
          w_(weight_elements() * size_of(type)),
          dw_(weight_elements() * sizeof(float)),
          gradients_(gradients),
          workspace_(workspace) {}
    std::size_t input_elements() const {
        const ConvShape& s = layer_.shape;
        return static_cast<std::size_t>(s.batch * s.height * s.width * s.in_channels);
    }
    std::size_t output_elements() const {
        const ConvShape& s = layer_.shape;
        return static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels);
    }
    std::size_t weight_elements() const {
        const ConvShape& s = layer_.shape;
        return static_cast<std::size_t>(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels);
    }
    double gflop() const {
        const ConvShape& s = layer_.shape;
        return 2e-9 * static_cast<double>(output_elements()) *
               static_cast<double>(s.kernel_h * s.kernel_w * s.in_channels);
    }
    void run_forward() {
        ConvForwardArgs args{x_.data.get(), vectors(), vectors(), w_.data.get(),
                             y_.data.get(), vectors(), nullptr};
        args.workspace = workspace_.data.get();
        forward_ms.push_back(timed([&] { forward_.run(args); }));
    }
    void run_backward() {
        ConvBackwardArgs args;
        args.x = args.references[0] = x_.data.get();
        args.w = w_.data.get();
        args.y = y_.data.get();
        args.scale = args.shift = args.a = args.b = args.c = args.reductions = vectors();
        args.g = gradients_.data.get();
        args.dx = args.g == nullptr ? nullptr : gradients_.data.get() + kGradientBytes;
        args.addend = gradients_.data.get() + 2 * kGradientBytes;
        args.dw = reinterpret_cast<float*>(dw_.data.get());
        args.workspace = workspace_.data.get();
        backward_ms.push_back(timed([&] { backward_.run(args); }));
    }
    std::size_t workspace_bytes() const {
        return std::max(forward_.workspace_bytes(), backward_.workspace_bytes());
    }
    const Layer& layer() const { return layer_; }
    std::string description() const { return forward_.description() + " / " + backward_.description(); }
    static constexpr std::size_t kGradientBytes = 64u << 20;
    std::vector<double> forward_ms, backward_ms;

  private:
    static ConvForwardSpec forward_spec(const Layer& layer, DType type) {
        ConvForwardSpec spec;
        spec.shape = layer.shape;
        spec.x = spec.y = spec.weight = type;
        spec.input_affine = spec.input_relu = layer.input == Input::kConvolution;
        spec.statistics = true;
        return spec;
    }
    static ConvBackwardSpec backward_spec(const Layer& layer, DType type, const std::string& part) {
        ConvBackwardSpec spec;
        spec.shape = layer.shape;
        spec.x = spec.y = spec.g = spec.dx = spec.addend = spec.reference = spec.weight = type;
        spec.need_data = layer.input != Input::kImages && part != "weight";
        spec.need_weight = part != "data" || layer.input == Input::kImages;
        spec.input_affine = spec.input_relu = layer.input == Input::kConvolution;
        spec.grad_affine = true;
        spec.add = layer.input == Input::kBlock;
        if (spec.need_data)
            spec.mask = layer.input == Input::kBlock ? ReluMask::kInput : ReluMask::kInputAffine;
        spec.reductions = spec.need_data;
        spec.num_references = spec.need_data ? 1 : 0;
        return spec;
    }
    float* vectors() { return reinterpret_cast<float*>(gradients_.data.get() + 3 * kGradientBytes); }
    double now_ms() const {
        timespec time{};
        clock_gettime(processor_time() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
        const double ms = static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
        return processor_time() ? ms / threads_ : ms;
    }
    template <class Body>
    double timed(const Body& body) const {
        const double start = now_ms();
        body();
        return now_ms() - start;
    }
    int threads_;
    Layer layer_;
    ConvForward forward_;
    ConvBackward backward_;
    Memory x_, y_, w_, dw_;
    Memory& gradients_;
    Memory& workspace_;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}
double minimum(const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
}

void run_network(const std::string& name, const std::vector<Layer>& layers, DType type, int rounds,
                 int threads, const std::string& only, const std::string& part) {
    Memory gradients(3 * Bench::kGradientBytes + (1u << 16)), workspace(256u << 20);
    std::vector<std::unique_ptr<Bench>> benches;
    for (const Layer& layer : layers)
        if (only.empty() || layer.name.find(only) != std::string::npos)
            benches.push_back(std::make_unique<Bench>(layer, type, threads, part, gradients, workspace));
    for (int round = 0; round <= rounds; ++round) {
        for (auto& bench : benches) bench->run_forward();
        for (auto bench = benches.rbegin(); bench != benches.rend(); ++bench) (*bench)->run_backward();
    }
    std::printf(
        "%s %s, %d threads, %s\n%-20s %3s  %8s %8s  %8s %8s  (ms by minimum; GFLOP/s by minimum, median)\n",
        name.c_str(), std::string(name_of(type)).c_str(), threads,
        processor_time() ? "processor time" : "wall time", "layer", "n", "fwd ms", "bwd ms", "fwd", "bwd");
    double sum[4] = {};
    for (auto& bench : benches) {
        bench->forward_ms.erase(bench->forward_ms.begin());
        bench->backward_ms.erase(bench->backward_ms.begin());
        const double passes = bench->layer().input == Input::kImages || !part.empty() ? 1 : 2,
                     gflop = bench->gflop() * 1e3;
        const double ms[] = {minimum(bench->forward_ms), minimum(bench->backward_ms),
                             median(bench->forward_ms), median(bench->backward_ms)};
        for (int i = 0; i < 4; ++i) sum[i] += ms[i] * bench->layer().count;
        std::printf("%-20s %3d  %8.2f %8.2f  %4.0f %4.0f %4.0f %4.0f  %s\n", bench->layer().name.c_str(),
                    bench->layer().count, ms[0], ms[1], gflop / ms[0], gflop / ms[2], passes * gflop / ms[1],
                    passes * gflop / ms[3], bench->description().c_str());
    }
    std::printf("sum by minimum: forward %.1f ms, backward %.1f ms, both %.1f ms\n", sum[0], sum[1],
                sum[0] + sum[1]);
    std::printf("sum by median:  forward %.1f ms, backward %.1f ms, both %.1f ms\n", sum[2], sum[3],
                sum[2] + sum[3]);
}

}  // namespace
}  // namespace mpt::cpu

int main(int argc, char** argv) {
    const std::string network = argc > 1 ? argv[1] : "both";
    const mpt::DType type = mpt::dtype_named(argc > 2 ? argv[2] : "f32").value();
    const int rounds = argc > 3 ? std::atoi(argv[3]) : 3;
    const int threads = argc > 4 ? std::atoi(argv[4]) : mpt::cpu::num_usable_cores();
    const std::string only = argc > 5 ? argv[5] : "", part = argc > 6 ? argv[6] : "";
    if (network != "resnet20")
        mpt::cpu::run_network("ResNet-50", mpt::cpu::resnet50(16), type, rounds, threads, only, part);
    if (network != "resnet50")
        mpt::cpu::run_network("ResNet-20", mpt::cpu::resnet20(128), type, rounds, threads, only, part);
}
