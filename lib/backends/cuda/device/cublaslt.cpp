#include "backends/cuda/device/cublaslt.h"

#include <cstring>
#include <vector>

#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/journal.h"
#include "backends/cuda/spec_text.h"
#include "core/error.h"

namespace mpt::gpu {

namespace {

const DynamicLibrary& library() {
    static const DynamicLibrary lt("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", MPT_CUBLASLT_PATH});
    return lt;
}

void check(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const std::string what = std::string(call) + " failed with cuBLAS status " + std::to_string(status);
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
        throw Error(ExitCode::kResource, what + " (memory); lower train.batch_size");
    throw InternalError(what);
}

cudaDataType_t data_type(DType dtype) {
    return dtype == DType::f16 ? CUDA_R_16F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

constexpr int kMostCandidates = 16;
constexpr std::uint32_t kAlignment = 16;  // bytes that every operand has

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

struct CublasLt::Functions {
#define MPT_LT(name) decltype(&::name) name = library().function<decltype(::name)>(#name)
    MPT_LT(cublasLtCreate);
    MPT_LT(cublasLtDestroy);
    MPT_LT(cublasLtMatmul);
    MPT_LT(cublasLtMatmulAlgoGetHeuristic);
    MPT_LT(cublasLtMatmulDescCreate);
    MPT_LT(cublasLtMatmulDescDestroy);
    MPT_LT(cublasLtMatmulDescSetAttribute);
    MPT_LT(cublasLtMatrixLayoutCreate);
    MPT_LT(cublasLtMatrixLayoutDestroy);
    MPT_LT(cublasLtMatmulPreferenceCreate);
    MPT_LT(cublasLtMatmulPreferenceDestroy);
    MPT_LT(cublasLtMatmulPreferenceSetAttribute);
#undef MPT_LT
};

// Descriptors of one product and the algorithm chosen for it.
struct CublasLt::Product {
    const Functions& f;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
    std::vector<cublasLtMatmulHeuristicResult_t> candidates;
    cublasLtMatmulAlgo_t algo{};
    std::size_t workspace_bytes = 0;
    float beta = 0;

    Product(const Functions& functions, cublasLtHandle_t lt) : f(functions), handle(lt) {}
    ~Product() {
        if (operation != nullptr) f.cublasLtMatmulDescDestroy(operation);
        for (const cublasLtMatrixLayout_t layout : {a, b, d})
            if (layout != nullptr) f.cublasLtMatrixLayoutDestroy(layout);
    }
    template <typename T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
        check(f.cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
              "cublasLtMatmulDescSetAttribute");
    }
    // `first` and `second` are the library's A and B: our b and a.
    void run(const ProductArgs& args, const void* bias, cudaStream_t stream) const {
        if (bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        const float alpha = 1;
        check(f.cublasLtMatmul(handle, operation, &alpha, args.b, a, args.a, b, &beta, args.d, d, args.d, d,
                               &algo, args.workspace, workspace_bytes, stream),
              "cublasLtMatmul");
    }
};

std::string cublaslt_version_text() {
    try {
        const std::size_t version = library().function<std::size_t()>("cublasLtGetVersion")();
        return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    } catch (const Error&) {
        return "none";
    }
}

CublasLt::CublasLt() : functions_(std::make_unique<Functions>()) {
    check(functions_->cublasLtCreate(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() {
    functions_->cublasLtDestroy(handle_);
}

std::shared_ptr<CublasLt::Product> CublasLt::describe(const ProductSpec& s) const {
    auto p = std::make_shared<Product>(*functions_, handle_);
    const cublasComputeType_t compute =
        s.input != DType::f32 || !s.tf32 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    check(functions_->cublasLtMatmulDescCreate(&p->operation, compute, CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    // Row-major memory read column-major is the transposed matrix: d^T = b^T a^T.
    p->set(CUBLASLT_MATMUL_DESC_TRANSA, s.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    p->set(CUBLASLT_MATMUL_DESC_TRANSB, s.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    const auto layout = [&](cublasLtMatrixLayout_t* to, DType type, std::int64_t rows, std::int64_t columns) {
        check(functions_->cublasLtMatrixLayoutCreate(to, data_type(type), static_cast<std::uint64_t>(rows),
                                                     static_cast<std::uint64_t>(columns), rows),
              "cublasLtMatrixLayoutCreate");
    };
    layout(&p->a, s.input, s.transposed_b ? s.k : s.n, s.transposed_b ? s.n : s.k);
    layout(&p->b, s.input, s.transposed_a ? s.m : s.k, s.transposed_a ? s.k : s.m);
    layout(&p->d, s.output, s.n, s.m);
    p->beta = s.accumulate ? 1.0f : 0.0f;
    if (s.bias) {
        p->set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        p->set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(s.output));
    }
    return p;
}

// Fills the candidates and takes the first; returns why there is none.
std::string CublasLt::choose(CudaDevice& device, const ProductSpec& spec, Product& p) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check(functions_->cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        check(functions_->cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
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
    const cublasStatus_t status = functions_->cublasLtMatmulAlgoGetHeuristic(
        handle_, p.operation, p.a, p.b, p.d, p.d, preference, kMostCandidates, p.candidates.data(), &count);
    functions_->cublasLtMatmulPreferenceDestroy(preference);
    p.candidates.resize(static_cast<std::size_t>(status == CUBLAS_STATUS_SUCCESS ? count : 0));
    if (p.candidates.empty())
        return "cuBLASLt has no algorithm for " + text_of(spec) + " (status " + std::to_string(status) + ")";
    p.algo = p.candidates.front().algo;
    p.workspace_bytes = p.candidates.front().workspaceSize;
    return {};
}

void CublasLt::measure(CudaDevice& device, const ProductSpec& s, Product& p) const {
    const std::string what = text_of(s);
    const std::optional<std::string> known = device.journal().find(what);
    if (known)
        for (const auto& candidate : p.candidates)
            if (hex_of(candidate.algo) == *known) {
                p.algo = candidate.algo;
                p.workspace_bytes = candidate.workspaceSize;
                return;
            }
    const auto bytes = [](std::int64_t elements, DType type) {
        return static_cast<std::size_t>(elements) * size_of(type);
    };
    const Memory a(device, bytes(s.m * s.k, s.input)), b(device, bytes(s.k * s.n, s.input));
    const Memory d(device, bytes(s.m * s.n, s.output)), bias(device, bytes(s.n, DType::f32));
    std::size_t most = 0;
    for (const auto& candidate : p.candidates) most = std::max(most, candidate.workspaceSize);
    const Memory workspace(device, most);
    for (const Memory* memory : {&a, &b, &d, &bias}) device.fill_zero(memory->data(), memory->bytes());
    const ProductArgs args{a.data(), b.data(), d.data(), nullptr, workspace.data()};
    double best = 1e30;
    cublasLtMatmulHeuristicResult_t chosen = p.candidates.front();
    for (const auto& candidate : p.candidates) {
        p.algo = candidate.algo;
        p.workspace_bytes = candidate.workspaceSize;
        const double ms =
            device.time([&] { p.run(args, s.bias ? bias.data() : nullptr, device.cuda_stream()); }, 5);
        if (ms < best) best = ms, chosen = candidate;
    }
    p.algo = chosen.algo;
    p.workspace_bytes = chosen.workspaceSize;
    device.journal().add(what, hex_of(chosen.algo));
}

Planned<ProductArgs> CublasLt::plan(CudaDevice& device, const ProductSpec& spec) {
    Planned<ProductArgs> planned;
    const std::shared_ptr<Product> product = describe(spec);
    planned.refusal = choose(device, spec, *product);
    if (!planned.refusal.empty()) return planned;
    if (device.settings().measure) measure(device, spec, *product);
    // The library wants a bias in the type of the result; ours is f32.
    const bool narrows = spec.bias && spec.output != DType::f32;
    const std::size_t bias_bytes =
        narrows ? (static_cast<std::size_t>(spec.n) * size_of(spec.output) + 255) / 256 * 256 : 0;
    planned.workspace_bytes = bias_bytes + product->workspace_bytes;
    planned.description = narrows ? "cublaslt, bias narrowed" : "cublaslt";
    planned.run = [product, spec, narrows, bias_bytes, &device](const ProductArgs& args) {
        ProductArgs inner = args;
        const void* bias = spec.bias ? static_cast<const void*>(args.bias) : nullptr;
        if (narrows) {
            narrow_bias(device, spec.output, spec.n, args.bias, args.workspace);
            bias = args.workspace;
            inner.workspace = static_cast<std::byte*>(args.workspace) + bias_bytes;
        }
        product->run(inner, bias, device.cuda_stream());
    };
    return planned;
}

}  // namespace mpt::gpu
