// What is told where NVIDIA's libraries are not there or their calls fail, and what is refused before they
// are asked. The libraries' own names of their statuses are the reference.
#include <catch2/catch.hpp>

#include "backends/cuda/device/check.h"
#include "backends/cuda/device/cublaslt_product.h"
#include "backends/cuda/device/cudnn_convolution.h"
#include "backends/cuda/failures.h"

using namespace mpt;
using namespace mpt::gpu;
using Catch::Contains;

namespace {

template <typename Failure>
std::string failure_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Failure& failure) {
        return failure.what();
    }
    FAIL("no such failure");
    return {};
}

ExitCode code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    return ExitCode::kDone;
}

}  // namespace

TEST_CASE("the version that was built with is tried first, then the build's path, then others") {
    using Names = std::vector<std::string>;
    CHECK(library_names("libx.so.", 12, "/built/libx.so", {13, 12}) ==
          Names{"libx.so.12", "/built/libx.so", "libx.so.13"});
    CHECK(library_names("libx.so.", 14, "/built/libx.so", {13, 12}) ==
          Names{"libx.so.14", "/built/libx.so", "libx.so.13", "libx.so.12"});
    const std::string told = failure_of<Error>([] { DynamicLibrary("X", {"libno-x.so.1", "libno-x.so.2"}); });
    CHECK_THAT(told, Contains("X cannot be loaded (tried libno-x.so.1, libno-x.so.2): libno-x.so.1: ") &&
                         Contains("LD_LIBRARY_PATH"));
    // The linker's own library is everywhere.
    CHECK_THAT(failure_of<Error>([] {
                   DynamicLibrary("X", {"libno-x.so.1", "libc.so.6"}).function<void()>("no_x");
               }),
               Contains("it has no no_x"));
}

TEST_CASE("a call of cuBLASLt that fails says call, status and meaning") {
    CHECK_NOTHROW(check_cublas(CUBLAS_STATUS_SUCCESS, "cublasLtMatmul"));
    CHECK_THAT(
        failure_of<CallFailed>([] { check_cublas(CUBLAS_STATUS_EXECUTION_FAILED, "cublasLtMatmul"); }),
        Contains("cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13), ") && Contains("autotune.mode"));
    CHECK_THAT(failure_of<OutOfMemory>([] { check_cublas(CUBLAS_STATUS_ALLOC_FAILED, "cublasLtMatmul"); }),
               Contains("CUBLAS_STATUS_ALLOC_FAILED (3)") && Contains("lower train.batch_size"));
    CHECK(code_of([] { check_cublas(CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtCreate"); }) == ExitCode::kUsage);
    std::vector<cublasLtMatmulHeuristicResult_t> results(3);
    results[0].state = CUBLAS_STATUS_NOT_SUPPORTED;
    results[1].workspaceSize = 7;
    results[2].state = CUBLAS_STATUS_INTERNAL_ERROR;
    drop_failed(results);
    REQUIRE(results.size() == 1);
    CHECK(results[0].workspaceSize == 7);
}

TEST_CASE("a call of cuDNN that fails says call, status, and what cuDNN tells of it on one line") {
    if (cudnn_version_text() == "none") {
        WARN("SKIPPED: cuDNN cannot be loaded");
        return;
    }
    const std::string told = failure_of<CallFailed>([] {
        Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        tensor.finalize();  // without type or dimensions
    });
    CHECK_THAT(told, Contains("cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM") && Contains("(20") &&
                         !Contains("\n") && !Contains("autotune"));
    const std::string status = told.substr(0, told.find(')') + 1);
    CHECK(told.size() > status.size() + 10);  // its own words
    CHECK_THAT(
        failure_of<CallFailed>([] { check_cudnn(CUDNN_STATUS_EXECUTION_FAILED, "cudnnBackendExecute"); }),
        Contains("cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED (5000)") && Contains("autotune.mode"));
    CHECK(code_of([] {
              check_cudnn(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "cudnnBackendExecute");
          }) == ExitCode::kResource);
    CHECK(code_of([] { check_cudnn(CUDNN_STATUS_NOT_INITIALIZED, "cudnnCreate"); }) == ExitCode::kUsage);
}

TEST_CASE("CUDA's errors that cost the process its GPU are told as such") {
    CHECK_NOTHROW(check_cuda(cudaSuccess, "cudaMemcpyAsync"));
    CHECK_THAT(failure_of<InternalError>([] { check_cuda(cudaErrorIllegalAddress, "cudaEventSynchronize"); }),
               Contains("cudaEventSynchronize: cudaErrorIllegalAddress, ") && Contains("has lost its GPU"));
    CHECK_THAT(failure_of<OutOfMemory>([] { check_cuda(cudaErrorMemoryAllocation, "cudaMallocHost"); }),
               Contains("cudaMallocHost"));
}

TEST_CASE("sums over channels that would not begin on 16 bytes are refused") {
    ConvolutionSpec s;
    s.c = 6, s.k = 8;
    CHECK(refusal_of(s).empty());
    s.fusion.statistics = true;
    CHECK(refusal_of(s).empty());  // of 8 channels
    s.kind = ConvolutionKind::kBackwardData;
    s.fusion = {.mask = true};
    CHECK(refusal_of(s).empty());
    s.fusion.reductions = true;
    CHECK_THAT(refusal_of(s), Contains("multiples of 4 channels"));
    s.fusion.reductions = false, s.fusion.references = 2;
    CHECK_THAT(refusal_of(s), Contains("multiples of 4 channels"));
    s.c = 12;
    CHECK(refusal_of(s).empty());
}
