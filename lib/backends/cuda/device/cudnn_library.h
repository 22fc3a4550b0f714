// cuDNN's backend API: the functions, loaded when needed, and descriptors with an owner.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace mpt::gpu {

struct CudnnFunctions {
    decltype(&::cudnnCreate) create;
    decltype(&::cudnnDestroy) destroy;
    decltype(&::cudnnSetStream) set_stream;
    decltype(&::cudnnGetVersion) version;
    decltype(&::cudnnGetErrorString) error_string;
    decltype(&::cudnnGetLastErrorString) last_error_string;
    decltype(&::cudnnBackendCreateDescriptor) create_descriptor;
    decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor;
    decltype(&::cudnnBackendSetAttribute) set_attribute;
    decltype(&::cudnnBackendGetAttribute) get_attribute;
    decltype(&::cudnnBackendFinalize) finalize;
    decltype(&::cudnnBackendExecute) execute;
};
// Throws Error(kUsage) when cuDNN cannot be loaded.
const CudnnFunctions& cudnn();
// "none" where it cannot be loaded, why in `reason`.
std::string cudnn_version_text(std::string* reason = nullptr);

// Throws Error(kResource) for memory, Error(kUsage) where library and GPU do not fit, otherwise CallFailed.
void check_cudnn(cudnnStatus_t status, const char* call);

class Descriptor {
  public:
    explicit Descriptor(cudnnBackendDescriptorType_t type);
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&&) = delete;

    cudnnBackendDescriptor_t get() const { return descriptor_; }
    void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
             const void* values);
    void set(cudnnBackendAttributeName_t name, std::int64_t value);
    void set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
    void set(cudnnBackendAttributeName_t name, bool value);
    void set(cudnnBackendAttributeName_t name, const Descriptor& value);
    void set_data_type(cudnnBackendAttributeName_t name, cudnnDataType_t value);
    std::int64_t get_integer(cudnnBackendAttributeName_t name) const;
    void finalize();
    // False where the library has nothing for what the descriptor says.
    bool try_finalize();

  private:
    cudnnBackendDescriptor_t descriptor_ = nullptr;
};

cudnnDataType_t cudnn_type(DType dtype);

}  // namespace mpt::gpu
