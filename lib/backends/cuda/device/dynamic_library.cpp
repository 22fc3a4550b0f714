#include "backends/cuda/device/dynamic_library.h"

#include <dlfcn.h>

#include "core/error.h"

namespace mpt::gpu {

std::vector<std::string> library_names(const std::string& stem, int built, const std::string& path,
                                       const std::vector<int>& others) {
    std::vector<std::string> names = {stem + std::to_string(built), path};
    for (const int other : others)
        if (other != built) names.push_back(stem + std::to_string(other));
    return names;
}

DynamicLibrary::DynamicLibrary(const std::string& what, const std::vector<std::string>& names) : what_(what) {
    std::string tried, reason;
    for (const std::string& name : names) {
        handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) return;
        const char* why = dlerror();
        if (tried.empty() && why != nullptr) reason = why;
        tried += (tried.empty() ? "" : ", ") + name;
    }
    throw Error(ExitCode::kUsage, what + " cannot be loaded (tried " + tried + "): " + reason +
                                      "; install it or set LD_LIBRARY_PATH, or use --device cpu");
}

void* DynamicLibrary::address(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found == nullptr) throw Error(ExitCode::kUsage, what_ + " is too old: it has no " + name);
    return found;
}

}  // namespace mpt::gpu
