// The generic op test (support/op_cases.h) on the CPU and on a GPU, and what every op must bring. On the host
// twin: op_twin_*_test.cpp.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "backends/cuda/host_twin/host_twin.h"
#include "support/op_cases.h"

using namespace mpt;
using namespace mpt::test;

namespace {

gpu::DeviceSettings any_order() {
    gpu::DeviceSettings settings;
    settings.deterministic = false;
    return settings;
}

}  // namespace

TEST_CASE("every kernel agrees with its op's reference") {
    check_backend({"cpu", cpu_kernels(), {nullptr}, {1, 3}});
}

// Those of [gpu] are asked for by scripts/check_gpu.sh; elsewhere there is nothing to say.
TEST_CASE("every GPU kernel agrees with its op's reference on a GPU", "[gpu]") {
    if (std::getenv("MPT_TEST_GPU") == nullptr) return;
    const std::unique_ptr<gpu::Device> device = gpu::open_device(0);
    CHECK(check_backend({"cuda", cuda_kernels(), {device.get()}, {1}}).checked > 0);
}

// `deterministic: false` lets cuDNN and cuBLASLt take more algorithms, and cuDNN's attention sum its
// gradients with atomics; no kernel of our own depends on it.
TEST_CASE("the libraries' kernels agree with their ops' references on a GPU in any order of sums", "[gpu]") {
    if (std::getenv("MPT_TEST_GPU") == nullptr) return;
    const std::unique_ptr<gpu::Device> device = gpu::open_device(0);
    device->set(any_order());
    const Coverage coverage = check_backend({"cuda any-order", cuda_kernels(), {device.get()}, {1}, true});
    const bool all_wanted = is_wanted("");
    CHECK((coverage.checked > 0 || !all_wanted));
}

// The twin's own loops have one order: here as a try of what the test above does.
TEST_CASE("the libraries' products agree with their references on the host twin with either setting") {
    gpu::HostTwin twin;
    twin.set(any_order());
    const Coverage coverage =
        check_backend({"cuda-host any-order", cuda_host_kernels(), {&twin}, {1}, true},
                      [](std::string_view op) { return op == "linear" || op == "conv2d"; });
    const bool all_wanted = is_wanted("");
    CHECK((coverage.checked > 0 || !all_wanted));
}

TEST_CASE("a fused op's reference agrees with its decomposition") {
    for (const Sample& sample : sample_table().samples) {
        const std::string name = case_name(sample, DType::f64, "decomposed");
        if (sample.op->decompose == nullptr || reference_of(sample.op->name) == nullptr || !is_wanted(name))
            continue;
        INFO(name);
        const Values inputs = draw_inputs(sample, DType::f64);
        const Signature s = test::signature_of(sample, DType::f64, 1);
        Values expected = decomposed(sample, inputs);
        const Values got = expected_outputs(sample, inputs);
        for (std::size_t o = 0; o < s.outputs.size(); ++o)
            if (!expected[o].empty()) {
                INFO("output " << o);
                CHECK(difference(sample, s.outputs[o], 0, got[o], expected[o]) == "");
            }
    }
}

TEST_CASE("every op has a precision class, a sample and a reference") {
    std::set<std::string_view> sampled;
    std::string lacking;
    for (const Sample& sample : sample_table().samples) {
        sampled.insert(sample.op->name);
        if (!sample.tested_by.empty() && !std::filesystem::exists(MPT_SOURCE_DIR "/" + sample.tested_by))
            lacking += std::string(sample.op->name) + ": there is no " + sample.tested_by + "\n";
    }
    for (const auto& [name, op] : op_table().ops) {
        if (op->precision == PrecisionClass::kUnset) lacking += name + ": no precision class\n";
        if (!sampled.contains(name)) lacking += name + ": no sample\n";
        if (reference_of(name) == nullptr && op->decompose == nullptr) lacking += name + ": no reference\n";
        if (cpu_kernels().by_op.find(name) == cpu_kernels().by_op.end()) lacking += name + ": no kernel\n";
        if (cuda_host_kernels().by_op.find(name) == cuda_host_kernels().by_op.end())
            lacking += name + ": no kernel for GPUs\n";
    }
    CHECK(lacking == "");
}
