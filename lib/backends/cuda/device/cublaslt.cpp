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

cudaDataType_t type_of_a(const ProductSpec& s) {
    if (s.fp8 == Fp8::kNone) return data_type(s.input);
    return s.fp8 == Fp8::kE5m2 ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3;
}
cudaDataType_t type_of_b(const ProductSpec& s) {
    return s.fp8 == Fp8::kNone ? data_type(s.input) : CUDA_R_8F_E4M3;
}

// What the library has in no version.
std::string refusal_of(const ProductSpec& s) {
    if (s.fp8 == Fp8::kNone) return {};
    if (s.transposed_a || !s.transposed_b) return "cuBLASLt multiplies fp8 only with b transposed";
    if (s.n % 16 != 0 || s.k % 16 != 0)
        return "cuBLASLt multiplies fp8 only in sizes that are multiples of 16";
    if (s.bias && s.output == DType::f32) return "cuBLASLt adds no f32 bias to a product of fp8";
    return {};
}

constexpr int kMostCandidates = 16;
constexpr std::uint32_t kAlignment = 16;  // bytes that every operand has

// Memory to time a product on; `memories` owns it.
ProductArgs scratch_arguments(Device& device, const ProductSpec& s, std::size_t workspace_bytes,
                              std::vector<Memory>& memories) {
    const auto make = [&](std::int64_t elements, DType type) {
        memories.emplace_back(device, static_cast<std::size_t>(elements) * size_of(type));
        device.fill_zero(memories.back().data(), memories.back().bytes());
        return memories.back().data();
    };
    ProductArgs args;
    args.a = make(s.m * s.k, s.input);
    args.b = make(s.k * s.n, s.input);
    args.d = make(s.m * s.n, s.output);
    if (s.bias) args.bias = reinterpret_cast<const float*>(make(s.n, DType::f32));
    if (s.gelu_gradient) args.x = make(s.m * s.n, s.output);
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
    bool fp8 = false;

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
        if (args.x != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, args.x);
        if (fp8) {
            set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(args.scale_b));
            set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(args.scale_a));
        }
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
    const auto layout = [&](cublasLtMatrixLayout_t* to, cudaDataType_t type, std::int64_t rows,
                            std::int64_t columns) {
        check(functions_->cublasLtMatrixLayoutCreate(to, type, static_cast<std::uint64_t>(rows),
                                                     static_cast<std::uint64_t>(columns), rows),
              "cublasLtMatrixLayoutCreate");
    };
    p->fp8 = s.fp8 != Fp8::kNone;
    layout(&p->a, type_of_b(s), s.transposed_b ? s.k : s.n, s.transposed_b ? s.n : s.k);
    layout(&p->b, type_of_a(s), s.transposed_a ? s.m : s.k, s.transposed_a ? s.k : s.m);
    layout(&p->d, data_type(s.output), s.n, s.m);
    p->beta = s.accumulate ? 1.0f : 0.0f;
    // Partial sums with fewer bits: noise that a forward pass bears, and gradients do not.
    if (p->fp8)
        p->set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(s.fp8 == Fp8::kE4m3 ? 1 : 0));
    if (s.bias) {
        p->set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        p->set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(s.output));
    } else if (s.gelu_gradient) {
        p->set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU);
        p->set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, s.n);
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

void CublasLt::take_fastest(CudaDevice& device, const ProductSpec& s, Product& p) const {
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
        return device.time([&] { p.run(args, args.bias, device.cuda_stream()); }, 5);
    };
    take(choose_candidate(device.journal(), device.settings().autotune, text_of(s), keys, ms));
}

Planned<ProductArgs> CublasLt::plan(CudaDevice& device, const ProductSpec& spec) {
    Planned<ProductArgs> planned;
    planned.refusal = refusal_of(spec);
    if (!planned.refusal.empty()) return planned;
    const std::shared_ptr<Product> product = describe(spec);
    planned.refusal = choose(device, spec, *product);
    if (!planned.refusal.empty()) return planned;
    take_fastest(device, spec, *product);
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
