// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace mpt {

struct AvailableMemory {
    std::int64_t bytes = 0;
    std::string limited_by;  // "ulimit -v"; empty: by what the machine has free
};
AvailableMemory available_memory();

// "3 GiB free", with what limits it: for messages.
std::string print(const AvailableMemory& memory);
// In KiB where it is less than 10 MiB and no whole number of them, in MiB below 10 GiB, else in GiB.
std::string print_bytes(std::int64_t bytes);

}  // namespace mpt
