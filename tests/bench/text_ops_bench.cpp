// Speed of the ops of text models at the sizes of GPT-2 124M, batch 4 of 256 tokens, and of a small GPT.
//   text_ops_bench [f32|f16|bf16] [rounds] [threads] [part of an op's name]
// Times are the processor's over the threads, the best round: what the work costs on a busy machine.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "backends/cpu/arena.h"
#include "core/philox.h"
#include "graph/kernel.h"
#include "ops/add/add.h"
#include "ops/add_layer_norm/add_layer_norm.h"
#include "ops/add_rows/add_rows.h"
#include "ops/attention/attention.h"
#include "ops/dropout/dropout.h"
#include "ops/embedding/embedding.h"
#include "ops/gelu/gelu.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/linear/linear.h"
#include "ops/reference.h"
#include "ops/rope/rope.h"
#include "ops/silu/silu.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {
namespace {

struct Case {
    const OpType* op;
    Attributes attributes;
    std::vector<TensorType> inputs;  // of i32: ids below 50000, an empty one is absent
};

std::vector<Case> cases(DType data) {
    const auto tensor = [=](const Shape& shape) { return TensorType{shape, data}; };
    const auto wide = [](const Shape& shape) { return TensorType{shape, DType::f32}; };
    const TensorType absent{{0}, DType::f32}, step{{}, DType::i32}, ids{{4, 256}, DType::i32};
    const TensorType x = tensor({4, 256, 768}), hidden = tensor({4, 256, 3072});
    const TensorType x_rows = tensor({1024, 768}), hidden_rows = tensor({1024, 3072});
    const TensorType logits = tensor({1024, 50304}), labels{{1024}, DType::i32};
    const TensorType vector = wide({768}), rows = wide({4, 256}), table = tensor({50304, 768});
    std::vector<Case> all = {
        {&linear_op, LinearAttributes{}, {tensor({1024, 768}), tensor({768, 768}), absent}},
        {&linear_op, LinearAttributes{Pointwise::kGeluTanh}, {hidden_rows, tensor({768, 3072}), vector}},
        {&linear_backward_data_op,
         LinearAttributes{Pointwise::kGeluTanh},
         {x_rows, tensor({768, 3072}), hidden_rows}},
        {&linear_backward_weight_accumulate_op,
         LinearAttributes{Pointwise::kGeluTanh},
         {wide({768, 3072}), x_rows, hidden_rows}},
        {&linear_op, LinearAttributes{}, {x_rows, table, absent}},
        {&softmax_cross_entropy_op, LossAttributes{0, -1, 50257}, {logits, labels}},
        {&softmax_cross_entropy_backward_op,
         LossAttributes{0, -1, 50257},
         {wide({}), logits, labels, wide({1024})}},
        {&sum_rows_op, {}, {hidden_rows}},
        {&add_op, {}, {x, x}},
        {&add_layer_norm_op, LayerNormAttributes{}, {x, x, vector, vector}},
        {&layer_norm_op, LayerNormAttributes{}, {x, vector, vector}},
        {&layer_norm_backward_op, {}, {x, x, vector, rows, rows}},
        {&gelu_op, GeluAttributes{GeluForm::kTanh}, {hidden}},
        {&gelu_backward_op, GeluAttributes{GeluForm::kTanh}, {hidden, hidden}},
        {&gelu_op, GeluAttributes{}, {hidden}},
        {&gelu_backward_op, GeluAttributes{}, {hidden, hidden}},
        {&silu_op, {}, {hidden}},
        {&dropout_op, DropoutAttributes{0.1, 1, 2}, {x, step}},
        {&embedding_op, EmbeddingAttributes{}, {ids, table}},
        {&embedding_backward_op, EmbeddingBackwardAttributes{50304, -1}, {x, ids}},
        {&add_rows_op, {}, {x, tensor({1024, 768})}},
        {&rope_op, RopeAttributes{}, {tensor({4, 256, 12, 64}), absent}},
    };
    for (const Shape& shape : {Shape{4, 256, 12, 64}, Shape{16, 64, 12, 64}, Shape{12, 64, 4, 32}})
        for (const bool causal : {true, false}) {
            const TensorType o = tensor(shape), statistic = wide({shape[0], shape[2], shape[1]});
            const TensorType qkv = tensor({shape[0], shape[1], 3, shape[2], shape[3]});
            all.push_back({&qkv_attention_op, AttentionAttributes{causal}, {qkv, absent}});
            all.push_back(
                {&qkv_attention_backward_op, AttentionAttributes{causal}, {o, qkv, o, statistic, absent}});
        }
    return all;
}

// Memory of a tensor on huge pages, as a run has it, filled at random.
struct Memory {
    cpu::Arena arena;
    void* data;
    explicit Memory(std::size_t size)
        : arena(static_cast<std::int64_t>(size + 64), true, 1), data(arena.data()) {}
    void fill(const TensorType& type, RandomStream& random) const {
        for (std::int64_t i = 0; i < type.shape.num_elements(); ++i)
            reference::store(data, type.dtype, i,
                             is_float(type.dtype) ? static_cast<double>(random.uniform()) * 2 - 1
                                                  : static_cast<double>(random.below(50000)));
    }
};

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run_case(const Case& c, int rounds, int num_threads) {
    Signature s;
    s.op = c.op;
    s.attributes = c.attributes;
    s.num_threads = num_threads;
    RandomStream random(1, RandomPurpose::kSample, 0);
    std::vector<Memory> memory;
    std::vector<void*> in, out;
    for (const TensorType& type : c.inputs) {
        const bool present = type.shape != Shape{0};
        s.inputs.push_back(present ? type : TensorType{});
        s.present.push_back(present);
        memory.emplace_back(static_cast<std::size_t>(type.bytes()));
        memory.back().fill(type, random);
        in.push_back(present ? memory.back().data : nullptr);
    }
    s.outputs = c.op->infer(s.attributes, s.inputs);
    for (const TensorType& type : s.outputs) {
        memory.emplace_back(static_cast<std::size_t>(type.bytes()));
        out.push_back(memory.back().data);
    }
    const PreparedKernel kernel = choose_kernel(cpu_kernels(), s, nullptr)->prepare(s);
    const Memory workspace(kernel.workspace_bytes);
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const double start = processor_seconds();
        kernel.run({in, out, workspace.data});
        best = std::min(best, (processor_seconds() - start) / num_threads);
    }
    const Cost cost = c.op->cost == nullptr ? Cost{0, 3.0 * static_cast<double>(s.outputs[0].bytes())}
                                            : c.op->cost(s.attributes, s.inputs, s.outputs);
    std::printf("%-24s %-16s %-20s %8.3f ms %7.1f GFLOP/s %6.1f GB/s\n", std::string(c.op->name).c_str(),
                to_string(c.inputs[0].shape).c_str(), s.attributes.text().substr(0, 20).c_str(), best * 1e3,
                cost.flops / best * 1e-9, cost.bytes / best * 1e-9);
}

}  // namespace
}  // namespace mpt

int main(int argc, char** argv) {
    const auto dtype = mpt::dtype_named(argc > 1 ? argv[1] : "f32").value_or(mpt::DType::f32);
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
    const int num_threads = argc > 3 ? std::atoi(argv[3]) : 1;
    const std::string part = argc > 4 ? argv[4] : "";
    for (const mpt::Case& c : mpt::cases(dtype))
        if (c.op->name.find(part) != std::string_view::npos) mpt::run_case(c, rounds, num_threads);
}
