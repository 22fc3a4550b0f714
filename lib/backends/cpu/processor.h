// This machine's processor and memory as the system describes them, and what its cores can compute at most.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mpt::cpu {

// Instructions that multiply in a narrow format.
struct MatrixFormat {
    std::string format, instructions;  // "bf16", "avx512_bf16"
    bool used = false;                 // by our kernels
};

struct Processor {
    std::string name = "CPU", vendor;
    int family = 0, model = 0;
    int physical_cores = 0, threads = 0;  // of the machine, whether this process may use them or not
    double mhz = 0;                       // greatest; 0: not told
    bool measured_mhz = false;            // where the system does not tell it
    std::int64_t memory_bytes = 0;
    bool avx2 = false, avx512 = false;  // each with multiply-adds
    std::vector<MatrixFormat> matrix_formats;

    // f32 multiply-adds (two flops each) that a core begins a clock: registers' lanes times units. 0 where
    // there are no such instructions.
    double avx2_flops_per_clock() const;
    double avx512_flops_per_clock() const;
    double f32_flops_per_clock() const;  // the greater one

    // Computed peak in GFLOP/s of so many cores at the greatest clock.
    double f32_gflops(double flops_per_clock, int cores) const {
        return 1e-3 * mhz * flops_per_clock * cores;
    }
    // Physical cores among those that this process may use.
    int cores_of(int usable_threads) const;
};

// From proc/ and sys/ below `root`; what is not there stays as it is above.
Processor read_processor(const std::filesystem::path& root = "/");
// Of this machine; the clock, where virtual machines hide it, is measured by additions that wait for each
// other, which takes some 5 ms.
Processor this_processor();

}  // namespace mpt::cpu
