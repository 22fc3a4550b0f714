// The memory of a run where its steps run, and the regions of the store where the host sees them. On a CPU,
// and on the host twin, these are one; of a GPU the host keeps a copy of the regions that is brought up to
// date when it is asked for and carried back before the next step.
#pragma once

#include <map>
#include <vector>

#include "backends/cpu/arena.h"
#include "backends/cuda/device.h"
#include "exec/store.h"

namespace mpt {

class RunMemory {
  public:
    RunMemory() = default;
    // `device` null: the CPU. Everything is zero at first.
    RunMemory(gpu::Device* device, const VariableTable& variables, const StoreLayout& layout, bool huge_pages,
              int num_threads);
    bool allocated() const { return allocated_; }
    std::int64_t bytes() const {
        return device_ == nullptr ? arena_.bytes() : static_cast<std::int64_t>(memory_.bytes());
    }

    const Store& store() const { return store_; }  // where steps run
    // The regions for the host to read and to change. Steps that ran are awaited.
    const Store& host();
    void before_step();  // carries over what the host may have changed
    void after_step() { host_is_old_ = true; }
    // A copy of a region's first bytes, where the region is; put_back() writes it there again. Both are in
    // the order of the steps, and nobody waits.
    void keep(Region region, std::int64_t bytes);
    void put_back(Region region);
    // Bytes from a region, awaited; the copy of the host stays as it is.
    void read(Region region, void* to, std::size_t bytes) const;

  private:
    bool apart() const { return device_ != nullptr && !device_->info().host_memory; }

    struct KeptRegion {
        std::vector<std::byte> bytes;  // on a CPU
        gpu::Memory memory;            // on a device
    };

    gpu::Device* device_ = nullptr;
    cpu::Arena arena_;    // of a CPU
    gpu::Memory memory_;  // of a device
    std::vector<std::byte> mirror_;
    Store store_, host_store_;
    std::map<Region, KeptRegion> kept_;
    std::size_t region_bytes_ = 0;  // of all regions
    bool allocated_ = false, host_is_old_ = false, host_may_have_written_ = false;
};

}  // namespace mpt
