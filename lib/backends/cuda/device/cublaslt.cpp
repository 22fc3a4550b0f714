#include "backends/cuda/device/cublaslt.h"

#include <vector>

#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/failures.h"
#include "backends/cuda/journal.h"
#include "backends/cuda/scratch_values.h"
#include "backends/cuda/spec_text.h"
#include "core/error.h"

namespace mpt::gpu {

namespace {

constexpr int kMostCandidates = 16;
constexpr std::uint32_t kAlignment = 16;  // bytes that every operand has

// Memory to time a product on; `memories` owns it.
ProductArgs scratch_arguments(Device& device, const ProductSpec& s, std::size_t workspace_bytes,
                              std::vector<Memory>& memories) {
    const auto make = [&](std::int64_t elements, DType type) {
        const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(type);
        memories.emplace_back(device, bytes);
        fill_scratch(device, memories.back().data(), bytes, {type});
        return memories.back().data();
    };
    const auto floats = [&](std::int64_t elements) {
        return reinterpret_cast<float*>(make(elements, DType::f32));
    };
    ProductArgs args;
    const bool fp8 = s.fp8 != Fp8::kNone;
    args.a = make(s.m * s.k, s.fp8 == Fp8::kE5m2 ? DType::e5m2 : fp8 ? DType::e4m3 : s.input);
    args.b = make(s.k * s.n, fp8 ? DType::e4m3 : s.input);
    args.d = make(s.m * s.n, s.output);
    if (s.bias) args.bias = floats(s.n);
    if (s.gelu_gradient) args.x = make(s.m * s.n, s.output);
    if (s.gelu) args.aux = make(s.m * s.n, s.output);
    if (s.bias_gradient) args.bias_gradient = floats(s.m);
    memories.emplace_back(device, workspace_bytes);
    args.workspace = memories.back().data();
    return args;
}

std::string hex_of(const cublasLtMatmulAlgo_t& algo) {
    std::string text;
    const auto* bytes = reinterpret_cast<const unsigned char*>(&algo);
    for (std::size_t i = 0; i < sizeof algo; ++i) {
        text += "0123456789abcdef"[bytes[i] >> 4];
        text += "0123456789abcdef"[bytes[i] & 15];
    }
    return text;
}

}  // namespace

std::string cublaslt_version_text(std::string* reason) {
    try {
        const std::size_t version = cublaslt_library().function<std::size_t()>("cublasLtGetVersion")();
        return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    } catch (const Error& error) {
        if (reason != nullptr) *reason = error.what();
        return "none";
    }
}

CublasLt::CublasLt() {
    check_cublas(functions_.cublasLtCreate(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() {
    functions_.cublasLtDestroy(handle_);
}

// Fills the candidates and takes the first; returns why there is none.
std::string CublasLt::choose(CudaDevice& device, const ProductSpec& spec, CublasLtProduct& p) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(functions_.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        check_cublas(
            functions_.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto most = static_cast<std::size_t>(
        std::min<std::int64_t>(device.settings().workspace_bytes, std::int64_t{32} << 20));
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most);
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        set(attribute, kAlignment);
    // Partial sums added in place come in any order; those added in the workspace, in f32, in one.
    const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (device.settings().deterministic) set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    p.candidates.resize(kMostCandidates);
    int count = 0;
    const cublasStatus_t status = functions_.cublasLtMatmulAlgoGetHeuristic(
        handle_, p.operation, p.a, p.b, p.d, p.d, preference, kMostCandidates, p.candidates.data(), &count);
    functions_.cublasLtMatmulPreferenceDestroy(preference);
    p.candidates.resize(static_cast<std::size_t>(status == CUBLAS_STATUS_SUCCESS ? count : 0));
    drop_failed(p.candidates);
    if (p.candidates.empty())
        return "cuBLASLt has no algorithm for " + text_of(spec) + " (status " + std::to_string(status) + ")";
    p.algo = p.candidates.front().algo;
    p.workspace_bytes = p.candidates.front().workspaceSize;
    return {};
}

void CublasLt::take_fastest(CudaDevice& device, const ProductSpec& s, CublasLtProduct& p) const {
    std::vector<std::string> keys;
    std::size_t most = 0;
    for (const auto& candidate : p.candidates) {
        keys.push_back(hex_of(candidate.algo));
        most = std::max(most, candidate.workspaceSize);
    }
    const auto take = [&](std::size_t index) {
        p.algo = p.candidates[index].algo;
        p.workspace_bytes = p.candidates[index].workspaceSize;
    };
    std::vector<Memory> memories;
    ProductArgs args;
    const auto ms = [&](std::size_t index) {
        if (memories.empty()) args = scratch_arguments(device, s, most, memories);
        take(index);
        return device.time([&] { p.run(handle_, args, args.bias, device.cuda_stream()); }, 5);
    };
    take(choose_candidate(device.journal(), device.settings().autotune, text_of(s), keys, ms));
}

// Where choices are measured: the bytes that the pass of its own would move, as a copy moves them, come on
// top of the product alone.
bool CublasLt::is_faster_apart(CudaDevice& device, const ProductSpec& s, const CublasLtProduct& p) const {
    if (!has_passing_work(s) || device.settings().autotune == Autotune::kOff) return false;
    const ProductSpec plain = without_passing_work(s);
    CublasLtProduct alone(functions_, plain);
    if (!choose(device, plain, alone).empty()) return false;
    try {
        take_fastest(device, plain, alone);
    } catch (const CallFailed&) {
        return false;
    }
    // gelu reads and writes d, its gradient reads x, too; sums of a read it. A copy reads and writes each
    // byte.
    const double of_d = static_cast<double>(s.m * s.n) * static_cast<double>(size_of(s.output));
    const double of_a = static_cast<double>(s.m * s.k) * static_cast<double>(size_of(s.input));
    const double bytes = s.gelu ? of_d : s.gelu_gradient ? 1.5 * of_d : 0.5 * of_a;
    std::vector<Memory> memories;
    ProductArgs args;
    const auto ms = [&](std::size_t way) {
        if (memories.empty()) {
            args = scratch_arguments(device, s, std::max(p.workspace_bytes, alone.workspace_bytes), memories);
            for (int i = 0; i < 2; ++i) memories.emplace_back(device, static_cast<std::size_t>(bytes));
        }
        const std::size_t last = memories.size() - 1;
        return device.time(
            [&] {
                (way == 0 ? p : alone).run(handle_, args, args.bias, device.cuda_stream());
                if (way == 1)
                    device.copy(memories[last].data(), memories[last - 1].data(), memories[last].bytes());
            },
            5);
    };
    return choose_candidate(device.journal(), device.settings().autotune, text_of(s) + ", fused or apart",
                            {"fused", "apart"}, ms) == 1;
}

Planned<ProductArgs> CublasLt::plan(CudaDevice& device, const ProductSpec& spec) {
    Planned<ProductArgs> planned;
    planned.refusal = refusal_of(spec);
    if (!planned.refusal.empty()) return planned;
    const auto product = std::make_shared<CublasLtProduct>(functions_, spec);
    planned.refusal = choose(device, spec, *product);
    if (!planned.refusal.empty()) return planned;
    try {
        take_fastest(device, spec, *product);
        if (is_faster_apart(device, spec, *product))
            planned.refusal =
                "cuBLASLt is slower at " + text_of(spec) + " than at the product alone and a pass behind it";
    } catch (const CallFailed& error) {
        planned.refusal = error.what();
    }
    if (!planned.refusal.empty()) return planned;
    // The library wants a bias in the type of the result; ours is f32.
    const bool narrows = spec.bias && spec.output != DType::f32;
    const std::size_t bias_bytes =
        narrows ? (static_cast<std::size_t>(spec.n) * size_of(spec.output) + 255) / 256 * 256 : 0;
    planned.workspace_bytes = bias_bytes + product->workspace_bytes;
    planned.description = narrows ? "cublaslt, bias narrowed" : "cublaslt";
    planned.run = [product, spec, narrows, bias_bytes, &device, handle = handle_](const ProductArgs& args) {
        ProductArgs inner = args;
        const void* bias = spec.bias ? static_cast<const void*>(args.bias) : nullptr;
        if (narrows) {
            narrow_bias(device, spec.output, spec.n, args.bias, args.workspace);
            bias = args.workspace;
            inner.workspace = static_cast<std::byte*>(args.workspace) + bias_bytes;
        }
        product->run(handle, inner, bias, device.cuda_stream());
    };
    return planned;
}

}  // namespace mpt::gpu
