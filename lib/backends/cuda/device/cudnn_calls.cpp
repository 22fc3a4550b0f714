// What the device runs by cuDNN: convolutions and attention, planned for it.
#include <algorithm>
#include <cmath>

#include "backends/cuda/device/cublaslt.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/cudnn_attention.h"
#include "backends/cuda/device/cudnn_convolution.h"
#include "backends/cuda/device/cudnn_runner.h"
#include "backends/cuda/spec_text.h"

namespace mpt::gpu {

namespace {

std::size_t rounded(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

// The vectors of channels that a fusion wants beside those it is called with, in the workspace: scale and
// shift in the type of the data, and what cuDNN writes that nobody reads.
struct VectorScratch {
    std::size_t scale = 0, shift = 0, scratch[3] = {}, bytes = 0;
    VectorScratch(const ConvolutionSpec& s, const ConvolutionIds& ids) {
        const auto take = [this](std::size_t count) {
            const std::size_t at = bytes;
            bytes += rounded(count);
            return at;
        };
        const auto channels = static_cast<std::size_t>(s.c);
        if (narrows_vectors(s)) {
            scale = take(channels * size_of(s.dtype));
            shift = take(channels * size_of(s.dtype));
        }
        for (std::size_t i = 0; i < 3; ++i)
            if (ids.scratch[i] != 0) scratch[i] = take(channels * sizeof(float));
    }
    static bool narrows_vectors(const ConvolutionSpec& s) {
        return s.fusion.affine && s.kind != ConvolutionKind::kBackwardData && s.dtype != DType::f32;
    }
};

std::vector<CudnnRunner::Measured> measured(const ConvolutionSpec& s, const ConvolutionIds& ids) {
    const std::size_t bytes = size_of(s.dtype);
    const auto elements = [&](std::int64_t count) { return static_cast<std::size_t>(count) * bytes; };
    const std::size_t x = elements(s.n * s.h * s.w * s.c), w = elements(s.k * s.r * s.s * s.c);
    const std::size_t y = elements(s.n * s.p * s.q * s.k);
    const std::size_t vector = rounded(static_cast<std::size_t>(std::max(s.c, s.k)) * sizeof(float));
    const std::size_t most = std::max({x, w, y});
    std::vector<CudnnRunner::Measured> tensors;
    for (const CudnnGraph::Id id :
         {ids.first, ids.second, ids.result, ids.addend, ids.masked, ids.references[0], ids.references[1]})
        if (id != 0) tensors.push_back({id, most, {s.dtype}});
    const DType type_of_affine = VectorScratch::narrows_vectors(s) ? s.dtype : DType::f32;
    for (const CudnnGraph::Id id : {ids.scale, ids.shift})
        if (id != 0) tensors.push_back({id, vector, {type_of_affine}});
    for (const CudnnGraph::Id id :
         {ids.sum, ids.sum_of_products, ids.sums_of_products[0], ids.sums_of_products[1], ids.zeros, ids.ones,
          ids.scratch[0], ids.scratch[1], ids.scratch[2]})
        if (id != 0) tensors.push_back({id, vector, {DType::f32, id == ids.ones ? 1.0f : 0.0f}});
    return tensors;
}

Bindings bound(const ConvolutionSpec& s, const ConvolutionIds& ids, const ConvolutionArgs& a,
               const VectorScratch& scratch, const Memory* constants) {
    const auto plain = [](const void* data) { return const_cast<void*>(data); };
    auto* workspace = static_cast<std::byte*>(a.workspace);
    Bindings b = {{ids.first, plain(a.first)},   {ids.second, plain(a.second)}, {ids.result, a.result},
                  {ids.addend, plain(a.addend)}, {ids.masked, plain(a.masked)}, {ids.scale, plain(a.scale)},
                  {ids.shift, plain(a.shift)}};
    if (VectorScratch::narrows_vectors(s)) {
        b[5].second = workspace + scratch.scale;
        b[6].second = workspace + scratch.shift;
    }
    if (ids.sum != 0) {
        const std::int64_t channels = s.kind == ConvolutionKind::kForward ? s.k : s.c;
        b.emplace_back(ids.sum, a.sums);
        b.emplace_back(ids.sum_of_products, a.sums + channels);
        for (std::ptrdiff_t r = 0; r < s.fusion.references; ++r) {
            b.emplace_back(ids.references[r], plain(a.references[r]));
            b.emplace_back(ids.sums_of_products[r], a.sums + (r + 1) * channels);
        }
    }
    for (std::size_t i = 0; i < 3; ++i) b.emplace_back(ids.scratch[i], workspace + scratch.scratch[i]);
    if (ids.zeros != 0) {
        b.emplace_back(ids.zeros, constants->data());
        b.emplace_back(ids.ones, constants->data() + rounded(static_cast<std::size_t>(s.c) * sizeof(float)));
    }
    return b;
}

// Zeros, then ones, each a vector of channels that begins on 256 bytes.
std::shared_ptr<Memory> upload_constants(CudaDevice& device, std::int64_t channels) {
    const std::size_t stride = rounded(static_cast<std::size_t>(channels) * sizeof(float)) / sizeof(float);
    std::vector<float> values(2 * stride, 0.0f);
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(stride), values.end(), 1.0f);
    return upload(device, values);
}

}  // namespace

Planned<ConvolutionArgs> plan_convolution(CudnnRunner& runner, CudaDevice& device,
                                          const ConvolutionSpec& spec) {
    Planned<ConvolutionArgs> planned;
    planned.refusal = refusal_of(spec);
    if (!planned.refusal.empty()) return planned;
    auto graph = std::make_shared<CudnnGraph>();
    const ConvolutionIds ids = add_convolution(*graph, spec);
    const bool tensor_cores = spec.dtype != DType::f32 || spec.tf32;
    const std::vector<CudnnPlan> plans =
        runner.plans(device, *graph, text_of(spec), tensor_cores, &planned.refusal);
    if (plans.empty()) return planned;
    const std::optional<CudnnPlan> chosen =
        runner.choose(device, *graph, text_of(spec), plans, measured(spec, ids), &planned.refusal);
    if (!chosen) return planned;
    const CudnnPlan& plan = *chosen;
    const VectorScratch scratch(spec, ids);
    const bool runs = !device.settings().sizes_only;
    const std::shared_ptr<Memory> constants =
        runs && ids.zeros != 0 ? upload_constants(device, spec.c) : nullptr;
    planned.workspace_bytes = scratch.bytes + static_cast<std::size_t>(plan.workspace_bytes);
    planned.description = plan.description();
    planned.run = [&runner, &device, spec, graph, ids, plan, scratch, constants](const ConvolutionArgs& a) {
        auto* workspace = static_cast<std::byte*>(a.workspace);
        if (VectorScratch::narrows_vectors(spec)) {
            narrow_bias(device, spec.dtype, spec.c, a.scale, workspace + scratch.scale);
            narrow_bias(device, spec.dtype, spec.c, a.shift, workspace + scratch.shift);
        }
        runner.run(*graph, plan, bound(spec, ids, a, scratch, constants.get()), workspace + scratch.bytes);
    };
    return planned;
}

namespace {

std::vector<CudnnRunner::Measured> measured(const AttentionSpec& s, const AttentionIds& ids,
                                            std::size_t row_bytes, std::size_t sum_bytes) {
    const auto data = [&](std::int64_t positions, std::int64_t row) {
        return static_cast<std::size_t>(s.batch * positions * row) * size_of(s.dtype);
    };
    const std::size_t q = data(s.queries, s.q_row), k = data(s.keys, s.k_row), v = data(s.keys, s.v_row);
    const std::size_t o = data(s.queries, s.heads * s.size);
    const auto rows = static_cast<std::size_t>(s.batch * s.heads * s.queries);
    const std::size_t lengths = static_cast<std::size_t>(s.batch) * sizeof(std::int32_t);
    const auto whole = [](std::int64_t length) {
        return ScratchValues{DType::i32, static_cast<float>(length)};
    };
    const float even = std::log(static_cast<float>(s.keys));  // the logsumexp of scores that are all 0
    const CudnnRunner::Measured all[] = {{ids.q, q, {s.dtype}},
                                         {ids.k, k, {s.dtype}},
                                         {ids.v, v, {s.dtype}},
                                         {ids.query_lengths, lengths, whole(s.queries)},
                                         {ids.key_lengths, lengths, whole(s.keys)},
                                         {ids.o, o, {s.dtype}},
                                         {ids.logsumexp, rows * sizeof(float), {DType::f32, even}},
                                         {ids.grad_o, o, {s.dtype}},
                                         {ids.grad_q, q, {s.dtype}},
                                         {ids.grad_k, k, {s.dtype}},
                                         {ids.grad_v, v, {s.dtype}},
                                         {ids.row_sums, row_bytes, {DType::f32, 0.0f}},
                                         {ids.grad_q_sums, sum_bytes, {DType::f32, 0.0f}}};
    std::vector<CudnnRunner::Measured> tensors;
    for (const CudnnRunner::Measured& tensor : all)
        if (tensor.id != 0) tensors.push_back(tensor);
    return tensors;
}

}  // namespace

Planned<AttentionArgs> plan_attention(CudnnRunner& runner, CudaDevice& device, const AttentionSpec& s) {
    Planned<AttentionArgs> planned;
    if (s.dtype != DType::f16 && s.dtype != DType::bf16) {
        planned.refusal = "cuDNN's attention takes f16 and bf16";
        return planned;
    }
    auto graph = std::make_shared<CudnnGraph>();
    const SumOrder order = device.settings().deterministic ? SumOrder::kFixed : SumOrder::kAny;
    const AttentionIds ids = add_attention(*graph, s, order);
    const std::vector<CudnnPlan> plans = runner.plans(device, *graph, text_of(s), true, &planned.refusal);
    if (plans.empty()) return planned;
    const auto rows = static_cast<std::size_t>(s.batch * s.heads * s.queries);
    const std::size_t row_bytes = s.backward ? rounded(rows * sizeof(float)) : 0;
    const std::size_t sum_bytes =
        ids.grad_q_sums == 0 ? 0 : rounded(rows * static_cast<std::size_t>(s.size) * sizeof(float));
    const std::optional<CudnnPlan> chosen = runner.choose(
        device, *graph, text_of(s), plans, measured(s, ids, row_bytes, sum_bytes), &planned.refusal);
    if (!chosen) return planned;
    const CudnnPlan& plan = *chosen;
    planned.workspace_bytes = row_bytes + sum_bytes + static_cast<std::size_t>(plan.workspace_bytes);
    planned.description = plan.description();
    planned.run = [&runner, &device, graph, ids, plan, row_bytes, sum_bytes](const AttentionArgs& a) {
        const auto plain = [](const void* pointer) { return const_cast<void*>(pointer); };
        auto* workspace = static_cast<std::byte*>(a.workspace);
        device.fill_zero(workspace + row_bytes, sum_bytes);
        runner.run(*graph, plan,
                   {{ids.q, plain(a.q)},
                    {ids.k, plain(a.k)},
                    {ids.v, plain(a.v)},
                    {ids.query_lengths, plain(a.query_lengths)},
                    {ids.key_lengths, plain(a.key_lengths)},
                    {ids.o, a.o},
                    {ids.logsumexp, a.logsumexp},
                    {ids.grad_o, plain(a.grad_o)},
                    {ids.grad_q, a.grad_q},
                    {ids.grad_k, a.grad_k},
                    {ids.grad_v, a.grad_v},
                    {ids.row_sums, workspace},
                    {ids.grad_q_sums, workspace + row_bytes}},
                   workspace + row_bytes + sum_bytes);
    };
    return planned;
}

}  // namespace mpt::gpu
