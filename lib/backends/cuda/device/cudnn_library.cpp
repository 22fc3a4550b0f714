#include "backends/cuda/device/cudnn_library.h"

#include <cctype>
#include <utility>

#include "backends/cuda/device/check.h"
#include "backends/cuda/device/dynamic_library.h"
#include "backends/cuda/failures.h"
#include "core/error.h"

namespace mpt::gpu {

const CudnnFunctions& cudnn() {
    static const CudnnFunctions functions = [] {
        const DynamicLibrary library("cuDNN", {"libcudnn.so.9", MPT_CUDNN_PATH});
        CudnnFunctions f{};
        f.create = library.function<decltype(::cudnnCreate)>("cudnnCreate");
        f.destroy = library.function<decltype(::cudnnDestroy)>("cudnnDestroy");
        f.set_stream = library.function<decltype(::cudnnSetStream)>("cudnnSetStream");
        f.version = library.function<decltype(::cudnnGetVersion)>("cudnnGetVersion");
        f.error_string = library.function<decltype(::cudnnGetErrorString)>("cudnnGetErrorString");
        f.last_error_string =
            library.function<decltype(::cudnnGetLastErrorString)>("cudnnGetLastErrorString");
        f.create_descriptor =
            library.function<decltype(::cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor");
        f.destroy_descriptor =
            library.function<decltype(::cudnnBackendDestroyDescriptor)>("cudnnBackendDestroyDescriptor");
        f.set_attribute = library.function<decltype(::cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
        f.get_attribute = library.function<decltype(::cudnnBackendGetAttribute)>("cudnnBackendGetAttribute");
        f.finalize = library.function<decltype(::cudnnBackendFinalize)>("cudnnBackendFinalize");
        f.execute = library.function<decltype(::cudnnBackendExecute)>("cudnnBackendExecute");
        // Before 9.8 a plan could not be told its device but by a handle.
        if (f.version() < 90800)
            throw Error(ExitCode::kUsage,
                        "cuDNN " + std::to_string(f.version()) + " is too old: 9.8 is needed");
        return f;
    }();
    return functions;
}

std::string cudnn_version_text(std::string* reason) {
    try {
        const std::size_t v = cudnn().version();
        return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
               std::to_string(v % 100);
    } catch (const Error& error) {
        if (reason != nullptr) *reason = error.what();
        return "none";
    }
}

namespace {

// What cuDNN tells of this thread's last failure, on one line; it may be the whole trace of what it tried.
std::string last_error() {
    char message[400] = {};
    cudnn().last_error_string(message, sizeof message);
    std::string text;
    for (const char c : std::string(message)) {
        const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
        if (!space || (!text.empty() && text.back() != ' ')) text += space ? ' ' : c;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text.empty() ? text : ", " + text;
}

}  // namespace

void check_cudnn(cudnnStatus_t status, const char* call) {
    if (status == CUDNN_STATUS_SUCCESS) return;
    const std::string what = std::string(call) + ": " + cudnn().error_string(status) + " (" +
                             std::to_string(status) + ")" + last_error() + pending_cuda_error();
    switch (status) {
        case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
        case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
            throw OutOfMemory(what);
        case CUDNN_STATUS_NOT_INITIALIZED:
        case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
        case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
        case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
            throw Error(ExitCode::kUsage, what +
                                              "; free memory of the GPU, install a cuDNN whose parts are of "
                                              "one version that fits the driver, or use --device cpu");
        default:
            break;
    }
    // 2000: parameters of ours.
    throw CallFailed(status / 1000 == 2 ? what : what + kAdviceOfCalls);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
    check_cudnn(cudnn().create_descriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
    if (descriptor_ != nullptr) cudnn().destroy_descriptor(descriptor_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                     const void* values) {
    check_cudnn(cudnn().set_attribute(descriptor_, name, type, count, values), "cudnnBackendSetAttribute");
}
void Descriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
    set(name, CUDNN_TYPE_INT64, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}
void Descriptor::set(cudnnBackendAttributeName_t name, bool value) {
    set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    const cudnnBackendDescriptor_t raw = value.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}
void Descriptor::set_data_type(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

std::int64_t Descriptor::get_integer(cudnnBackendAttributeName_t name) const {
    std::int64_t value = 0, count = 0;
    check_cudnn(cudnn().get_attribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &value),
                "cudnnBackendGetAttribute");
    return value;
}

void Descriptor::finalize() {
    check_cudnn(cudnn().finalize(descriptor_), "cudnnBackendFinalize");
}

bool Descriptor::try_finalize() {
    return cudnn().finalize(descriptor_) == CUDNN_STATUS_SUCCESS;
}

cudnnDataType_t cudnn_type(DType dtype) {
    switch (dtype) {
        case DType::f16:
            return CUDNN_DATA_HALF;
        case DType::bf16:
            return CUDNN_DATA_BFLOAT16;
        case DType::i32:
            return CUDNN_DATA_INT32;
        default:
            return CUDNN_DATA_FLOAT;
    }
}

}  // namespace mpt::gpu
