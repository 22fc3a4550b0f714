// The generic op test (support/op_cases.h) on the CPU and on a GPU, and what every op must bring. On the host
// twin: op_twin_*_test.cpp.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "support/op_cases.h"

using namespace mpt;
using namespace mpt::test;

TEST_CASE("every kernel agrees with its op's reference") {
    check_backend({"cpu", cpu_kernels(), {nullptr}, {1, 3}});
}

// scripts/check_gpu.sh asks for it; elsewhere there is nothing to say.
TEST_CASE("every GPU kernel agrees with its op's reference on a GPU") {
    if (std::getenv("MPT_TEST_GPU") == nullptr) return;
    const std::unique_ptr<gpu::Device> device = gpu::open_device(0);
    check_backend({"cuda", cuda_kernels(), {device.get()}, {1}});
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
