// A shared library that is opened when a GPU is: a machine without one never loads half a gigabyte of cuBLAS.
#pragma once

#include <string>
#include <vector>

namespace mpt::gpu {

// The names to try for a library whose versions are told apart by a number: that of the build, as the
// loader finds it and at the build's path, then the others.
std::vector<std::string> library_names(const std::string& stem, int built, const std::string& path,
                                       const std::vector<int>& others);

class DynamicLibrary {
  public:
    // Tries the names in order. Throws Error(kUsage) naming all of them, and why the first did not load.
    DynamicLibrary(const std::string& what, const std::vector<std::string>& names);
    // Throws Error(kUsage) when the library lacks it.
    template <typename Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(address(name));
    }

  private:
    void* address(const char* name) const;
    std::string what_;
    void* handle_ = nullptr;  // stays open: its threads may outlive us
};

}  // namespace mpt::gpu
