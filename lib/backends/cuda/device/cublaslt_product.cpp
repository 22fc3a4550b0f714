#include "backends/cuda/device/cublaslt_product.h"

#include "backends/cuda/device/check.h"
#include "backends/cuda/failures.h"
#include "core/error.h"

namespace mpt::gpu {

namespace {

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

cublasLtEpilogue_t epilogue_of(const ProductSpec& s) {
    if (s.gelu) return s.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    if (s.gelu_gradient) return CUBLASLT_EPILOGUE_DGELU;
    if (s.bias_gradient) return CUBLASLT_EPILOGUE_BGRADB;
    return s.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

const DynamicLibrary& cublaslt_library() {
    static const DynamicLibrary lt(
        "cuBLASLt", library_names("libcublasLt.so.", CUBLAS_VER_MAJOR, MPT_CUBLASLT_PATH, {13, 12}));
    return lt;
}

void check_cublas(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const auto text = [&](const char* function) -> std::string {
        return cublaslt_library().function<const char*(cublasStatus_t)>(function)(status);
    };
    const std::string what = std::string(call) + ": " + text("cublasLtGetStatusName") + " (" +
                             std::to_string(status) + "), " + text("cublasLtGetStatusString") +
                             pending_cuda_error();
    switch (status) {
        case CUBLAS_STATUS_ALLOC_FAILED:
            throw OutOfMemory(what);
        case CUBLAS_STATUS_NOT_INITIALIZED:
            throw Error(ExitCode::kUsage, what +
                                              "; free memory of the GPU, install a cuBLASLt that fits the "
                                              "driver, or use --device cpu");
        case CUBLAS_STATUS_ARCH_MISMATCH:
        case CUBLAS_STATUS_EXECUTION_FAILED:
        case CUBLAS_STATUS_MAPPING_ERROR:
        case CUBLAS_STATUS_NOT_SUPPORTED:
        case CUBLAS_STATUS_INTERNAL_ERROR:
            throw CallFailed(what + kAdviceOfCalls);
        default:
            throw CallFailed(what);
    }
}

void drop_failed(std::vector<cublasLtMatmulHeuristicResult_t>& results) {
    std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
}

std::string refusal_of(const ProductSpec& s) {
    // Rows of what gelu is of are read and written in packs.
    if ((s.gelu || s.gelu_gradient) && s.n % 8 != 0)
        return "cuBLASLt takes gelu into products whose rows are multiples of 8";
    if (s.gelu + s.gelu_gradient + s.bias_gradient > 1 || (s.bias_gradient && s.bias))
        return "cuBLASLt does one of these in a product";
    if (s.fp8 == Fp8::kNone) return {};
    if (has_passing_work(s)) return "takes nothing into a product of fp8 but its bias";
    if (s.transposed_a || !s.transposed_b) return "cuBLASLt multiplies fp8 only with b transposed";
    if (s.n % 16 != 0 || s.k % 16 != 0)
        return "cuBLASLt multiplies fp8 only in sizes that are multiples of 16";
    if (s.bias && s.output == DType::f32) return "cuBLASLt adds no f32 bias to a product of fp8";
    return {};
}

bool has_passing_work(const ProductSpec& s) {
    return s.gelu || s.gelu_gradient || s.bias_gradient;
}

ProductSpec without_passing_work(ProductSpec s) {
    s.gelu = s.gelu_gradient = s.bias_gradient = false;
    return s;
}

CublasLtProduct::CublasLtProduct(const CublasLtFunctions& functions, const ProductSpec& s)
    : f(functions), beta(s.accumulate ? 1.0f : 0.0f), fp8(s.fp8 != Fp8::kNone) {
    const cublasComputeType_t compute =
        s.input != DType::f32 || !s.tf32 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    check_cublas(f.cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    // Row-major memory read column-major is the transposed matrix: d^T = b^T a^T.
    set(CUBLASLT_MATMUL_DESC_TRANSA, s.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, s.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    // Partial sums with fewer bits: noise that a forward pass bears, and gradients do not.
    if (fp8) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(s.fp8 == Fp8::kE4m3 ? 1 : 0));
    describe_layouts(s);
    describe_passing_work(s);
}

CublasLtProduct::~CublasLtProduct() {
    if (operation != nullptr) f.cublasLtMatmulDescDestroy(operation);
    for (const cublasLtMatrixLayout_t layout : {a, b, d})
        if (layout != nullptr) f.cublasLtMatrixLayoutDestroy(layout);
}

void CublasLtProduct::describe_layouts(const ProductSpec& s) {
    const auto layout = [&](cublasLtMatrixLayout_t* to, cudaDataType_t type, std::int64_t rows,
                            std::int64_t columns) {
        check_cublas(f.cublasLtMatrixLayoutCreate(to, type, static_cast<std::uint64_t>(rows),
                                                  static_cast<std::uint64_t>(columns), rows),
                     "cublasLtMatrixLayoutCreate");
    };
    layout(&a, type_of_b(s), s.transposed_b ? s.k : s.n, s.transposed_b ? s.n : s.k);
    layout(&b, type_of_a(s), s.transposed_a ? s.m : s.k, s.transposed_a ? s.k : s.m);
    layout(&d, data_type(s.output), s.n, s.m);
}

void CublasLtProduct::describe_passing_work(const ProductSpec& s) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(s));
    if (s.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(s.output));
    if (s.bias_gradient) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    if (s.gelu || s.gelu_gradient) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, s.n);
}

void CublasLtProduct::run(cublasLtHandle_t handle, const ProductArgs& args, const void* bias,
                          cudaStream_t stream) const {
    if (bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (args.bias_gradient != nullptr)
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(args.bias_gradient));
    if (args.x != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, args.x);
    if (args.aux != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, args.aux);
    if (fp8) {
        set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(args.scale_b));
        set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(args.scale_a));
    }
    const float alpha = 1;
    check_cublas(f.cublasLtMatmul(handle, operation, &alpha, args.b, a, args.a, b, &beta, args.d, d, args.d,
                                  d, &algo, args.workspace, workspace_bytes, stream),
                 "cublasLtMatmul");
}

}  // namespace mpt::gpu
