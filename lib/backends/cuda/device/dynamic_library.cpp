#include "backends/cuda/device/dynamic_library.h"

#include <dlfcn.h>

#include "core/error.h"

namespace mpt::gpu {

DynamicLibrary::DynamicLibrary(const std::string& what, const std::vector<std::string>& names) : what_(what) {
    std::string tried;
    for (const std::string& name : names) {
        handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) return;
        tried += (tried.empty() ? "" : ", ") + name;
    }
    const char* why = dlerror();
    throw Error(ExitCode::kUsage, what + " cannot be loaded (tried " + tried +
                                      "): " + (why == nullptr ? "" : why) +
                                      "; install it or set LD_LIBRARY_PATH, or use --device cpu");
}

void* DynamicLibrary::address(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found == nullptr) throw Error(ExitCode::kUsage, what_ + " is too old: it has no " + name);
    return found;
}

}  // namespace mpt::gpu
