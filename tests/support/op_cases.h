// Every op x sample x element type x kernel of each backend against the op's reference run in f64 on the same
// (rounded) inputs: values, guard bytes, unchanged inputs, in place, 1 and 3 threads, the same bits twice. A
// case is called like `relu f16 cpu simd [4x33]`; MPT_OP_CASE=<part of a name>[|<part>...] runs only those
// that contain one of the parts, and tells how many; MPT_OP_SECONDS=<seconds> begins none after these.
// Backends: cpu; cuda-host, the GPU kernels' sources on the host twin, blocks and threads in both orders; and
// cuda where there is a GPU.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "backends/cuda/device.h"
#include "graph/gpu_kernels.h"
#include "support/device_mirror.h"
#include "support/graph_run.h"
#include "support/op_sample.h"
#include "support/tolerance.h"

namespace mpt::test {

inline bool is_wanted(const std::string& case_name) {
    const char* wanted = std::getenv("MPT_OP_CASE");
    if (wanted == nullptr || *wanted == 0) return true;
    std::istringstream parts(wanted);
    for (std::string part; std::getline(parts, part, '|');)
        if (case_name.find(part) != std::string::npos) return true;
    return false;
}

inline bool is_of_library(const Kernel& kernel) {
    return kernel.name == "cudnn" || kernel.name == "cublaslt";
}

// Kernels and what they run on. Outputs of both devices of a backend must have the same bits.
struct Backend {
    std::string name;
    const KernelTable& kernels;
    std::vector<gpu::Device*> devices;  // null: the CPU
    std::vector<int> threads;
    // Those of NVIDIA's libraries alone, which a setting lets sum in any order: bits may differ then.
    bool sums_in_any_order = false;
};

struct Coverage {
    int checked = 0, not_begun = 0;
};

inline std::string case_name(const Sample& sample, DType dtype, std::string_view kernel) {
    std::string name = std::string(sample.op->name) + " " + std::string(name_of(dtype)) + " " +
                       std::string(kernel) + " " + sample.name;
    const std::string attributes = sample.attributes.text();
    return attributes.empty() ? name : name + " " + attributes;
}

inline bool has_data(const Sample& sample) {
    return std::ranges::any_of(sample.inputs,
                               [](const SampleInput& i) { return i.kind == SampleInput::Kind::kData; });
}

inline std::vector<DType> dtypes_of(const Sample& sample) {
    if (!has_data(sample)) return {DType::f32};
    return {DType::f64, DType::f32, DType::f16, DType::bf16};
}

inline const Kernel* reference_of(std::string_view op) {
    const auto found = reference_kernels().by_op.find(op);
    return found == reference_kernels().by_op.end() ? nullptr : &found->second.front();
}

// One run of a kernel in guarded memory.
struct Outcome {
    std::vector<std::vector<std::uint8_t>> outputs;
    Values values;
    bool guards_intact = true;
    bool inputs_unchanged = true;
};

inline Outcome run_kernel(const PreparedKernel& kernel, const Signature& s, const Values& inputs,
                          const std::vector<Alias>& aliases, gpu::Device* device = nullptr) {
    std::vector<std::unique_ptr<GuardedBuffer>> in, out;
    std::vector<std::vector<std::uint8_t>> before;
    std::vector<void*> in_data, out_data;
    std::set<int> overwritten;
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
        in.push_back(std::make_unique<GuardedBuffer>(static_cast<std::size_t>(s.inputs[i].bytes())));
        in.back()->write(s.inputs[i].dtype, inputs[i]);
        before.push_back(in.back()->bytes());
        in_data.push_back(s.present[i] ? in.back()->data() : nullptr);
    }
    for (const TensorType& type : s.outputs) {
        out.push_back(std::make_unique<GuardedBuffer>(static_cast<std::size_t>(type.bytes())));
        out_data.push_back(out.back()->data());
    }
    for (const Alias alias : aliases) {
        out_data[static_cast<std::size_t>(alias.output)] = in_data[static_cast<std::size_t>(alias.input)];
        overwritten.insert(alias.input);
    }
    GuardedBuffer workspace(kernel.workspace_bytes);
    std::vector<GuardedBuffer*> buffers = {&workspace};
    for (const auto& buffer : in) buffers.push_back(buffer.get());
    for (const auto& buffer : out) buffers.push_back(buffer.get());
    run_on(device, kernel, {in_data, out_data, workspace.data()}, buffers);

    Outcome outcome;
    outcome.guards_intact = workspace.intact();
    for (const auto& buffer : in) outcome.guards_intact = outcome.guards_intact && buffer->intact();
    for (const auto& buffer : out) outcome.guards_intact = outcome.guards_intact && buffer->intact();
    for (std::size_t i = 0; i < in.size(); ++i)
        if (!overwritten.contains(static_cast<int>(i)))
            outcome.inputs_unchanged = outcome.inputs_unchanged && in[i]->bytes() == before[i];
    for (std::size_t o = 0; o < out.size(); ++o) {
        const std::uint8_t* data = static_cast<const std::uint8_t*>(out_data[o]);
        outcome.outputs.emplace_back(data, data + s.outputs[o].bytes());
        outcome.values.push_back(reference::Tensor{out_data[o], s.outputs[o]}.values());
    }
    return outcome;
}

// The outputs in f64: of the op's reference, or of its decomposition where it has no reference. An output
// that the decomposition does not have is empty.
inline Values decomposed(const Sample& sample, const Values& inputs) {
    SampleGraph one(sample, DType::f64);
    GraphBuilder builder(one.graph);
    const std::vector<ValueId> ids = sample.op->decompose(builder, one.node);
    GraphRun run(one.graph);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (one.inputs[i] != kNone) run.set(one.inputs[i], inputs[i]);
    run.run_nodes(1, one.graph.nodes.size());
    Values outputs;
    for (const ValueId id : ids) outputs.push_back(id == kNone ? std::vector<double>() : run.get(id));
    return outputs;
}

inline Values expected_outputs(const Sample& sample, const Values& inputs) {
    const Kernel* kernel = reference_of(sample.op->name);
    if (kernel == nullptr) return decomposed(sample, inputs);
    const Signature s = signature_of(sample, DType::f64, 1);
    return run_kernel(kernel->prepare(s), s, inputs, sample.op->must_alias).values;
}

// Empty, or the worst element in words. `summed_rounding` is that of the stored values a sum is made of, or
// 0.
inline std::string difference(const Sample& sample, const TensorType& type, double summed_rounding,
                              const std::vector<double>& got, const std::vector<double>& expected) {
    double scale = 0, worst = 1;
    std::string text;
    for (const double value : expected)
        if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double allowed = is_float(type.dtype)
                                   ? tolerance(type.dtype, expected[i], scale, sample.reduction_length,
                                               sample.tolerance_factor) +
                                         2 * summed_rounding * scale
                                   : 0.0;
        const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
        const double error = same ? 0 : std::abs(got[i] - expected[i]);
        const double ratio = same ? 0 : error / allowed;
        if (!(ratio <= worst)) {
            worst = ratio;
            text = "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", expected " +
                   std::to_string(expected[i]) + ": " + std::to_string(ratio) + " times the tolerance";
        }
    }
    return text;
}

// `rounding` is that of sums which a kernel stores in the type of the data on their way, or 0.
inline std::string difference(const Sample& sample, const Signature& s, const Values& got,
                              const Values& expected, double rounding = 0) {
    for (std::size_t o = 0; o < s.outputs.size(); ++o) {
        double summed_rounding = rounding;
        if (std::ranges::find(sample.sums_stored, static_cast<int>(o)) != sample.sums_stored.end())
            for (const TensorType& type : s.outputs)
                summed_rounding = std::max(summed_rounding, rounding_error(type.dtype));
        if (std::ranges::find(sample.sums_rounded, static_cast<int>(o)) != sample.sums_rounded.end())
            for (const TensorType& type : s.inputs)
                if (is_float(type.dtype))
                    summed_rounding = std::max(summed_rounding, rounding_error(type.dtype));
        const std::string text = difference(sample, s.outputs[o], summed_rounding, got[o], expected[o]);
        if (!text.empty()) return "output " + std::to_string(o) + ", " + text;
    }
    return {};
}

inline PreparedKernel prepared_on(gpu::Device* device, const Kernel& kernel, const Signature& s) {
    const gpu::DeviceScope scope(device);
    return kernel.prepare(s);
}

inline void check_kernel(const Sample& sample, const Signature& s, const Kernel& kernel, const Values& inputs,
                         const Values& expected, const Backend& backend) {
    gpu::Device* device = backend.devices.front();
    const PreparedKernel prepared = prepared_on(device, kernel, s);
    const Outcome first = run_kernel(prepared, s, inputs, sample.op->must_alias, device);
    // cuDNN writes gradients of weights in the type of the data.
    const double rounding =
        kernel.name == "cudnn" && s.out(0).dtype == DType::f32 ? rounding_error(s.in(0).dtype) : 0;
    CHECK(difference(sample, s, first.values, expected, rounding) == "");
    CHECK(first.guards_intact);
    CHECK(first.inputs_unchanged);
    // Whether they are the same is checked for fixed orders.
    const auto check_again = [&](const Outcome& again) {
        if (backend.sums_in_any_order)
            CHECK(difference(sample, s, again.values, expected, rounding) == "");
        else
            CHECK(again.outputs == first.outputs);
    };
    for (gpu::Device* again : backend.devices) {
        // The host twin has one thread: the same order has the same bits.
        if (again == device && backend.devices.size() > 1) continue;
        check_again(run_kernel(prepared_on(again, kernel, s), s, inputs, sample.op->must_alias, again));
    }
    for (const Alias alias : sample.op->may_alias) {
        if (s.in(alias.input) != s.out(alias.output)) continue;
        INFO("output " << alias.output << " in place of input " << alias.input);
        const Outcome in_place = run_kernel(prepared, s, inputs, {alias}, device);
        check_again(in_place);
        CHECK(in_place.guards_intact);
        CHECK(in_place.inputs_unchanged);
    }
}

inline std::string case_name(const Sample& sample, DType dtype, const Backend& backend,
                             const Kernel& kernel) {
    return case_name(sample, dtype, backend.name + " " + std::string(kernel.name));
}

// The kernels of a case that are to be checked, whether they take it or not.
inline std::vector<const Kernel*> wanted_kernels(const Sample& sample, DType dtype, const Backend& backend) {
    std::vector<const Kernel*> wanted;
    const auto found = backend.kernels.by_op.find(sample.op->name);
    if (found == backend.kernels.by_op.end()) return wanted;  // the completeness test tells
    for (const Kernel& kernel : found->second)
        if (is_wanted(case_name(sample, dtype, backend, kernel)) &&
            (!backend.sums_in_any_order || is_of_library(kernel)))
            wanted.push_back(&kernel);
    return wanted;
}

// How many kernels were checked. Expected values are made once for all of them.
inline int check_case(const Sample& sample, DType dtype, const Backend& backend) {
    int num_checked = 0;
    Values inputs, expected;
    for (const Kernel* kernel : wanted_kernels(sample, dtype, backend)) {
        bool checked = false;
        for (const int num_threads : backend.threads) {
            const Signature s = signature_of(sample, dtype, num_threads);
            const gpu::DeviceScope scope(backend.devices.front());
            if (kernel->refusal != nullptr && !kernel->refusal(s).empty()) continue;
            if (num_threads > 1 && kernel->name == "ref") continue;
            if (expected.empty()) {
                inputs = draw_inputs(sample, dtype);
                expected = expected_outputs(sample, inputs);
            }
            INFO(case_name(sample, dtype, backend, *kernel) << ", " << num_threads << " threads");
            check_kernel(sample, s, *kernel, inputs, expected, backend);
            checked = true;
        }
        if (checked) ++num_checked;
    }
    return num_checked;
}

// Of each op its first sample, then the second ones and so on: what there is time for has all ops in it.
inline std::vector<const Sample*> samples_in_turn() {
    std::map<std::string_view, int> num_of_op;
    std::vector<std::pair<int, const Sample*>> turns;
    for (const Sample& sample : sample_table().samples)
        turns.push_back({num_of_op[sample.op->name]++, &sample});
    std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
    std::vector<const Sample*> samples;
    for (const auto& [turn, sample] : turns) samples.push_back(sample);
    return samples;
}

// Of the ops that `wanted` takes.
inline Coverage check_backend(
    const Backend& backend,
    const std::function<bool(std::string_view op)>& wanted = [](std::string_view) { return true; }) {
    const char* seconds = std::getenv("MPT_OP_SECONDS");
    const auto begin = std::chrono::steady_clock::now();
    const auto has_time = [&] {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        return seconds == nullptr || taken.count() < std::atof(seconds);
    };
    Coverage coverage;
    for (const Sample* sample : samples_in_turn()) {
        if (!sample->tested_by.empty() || !wanted(sample->op->name)) continue;
        for (const DType dtype : dtypes_of(*sample))
            if (has_time())
                coverage.checked += check_case(*sample, dtype, backend);
            else
                coverage.not_begun += static_cast<int>(wanted_kernels(*sample, dtype, backend).size());
    }
    if (std::getenv("MPT_OP_CASE") != nullptr)
        std::cout << backend.name << ": checked " << coverage.checked << " cases, not begun "
                  << coverage.not_begun << std::endl;
    return coverage;
}

}  // namespace mpt::test
