#include "exec/run_memory.h"

#include <algorithm>

namespace mpt {

RunMemory::RunMemory(gpu::Device* device, const VariableTable& variables, const StoreLayout& layout,
                     bool huge_pages, int num_threads)
    : device_(device), region_bytes_(static_cast<std::size_t>(layout.step_arena_offset)), allocated_(true) {
    if (device_ == nullptr) {
        arena_ = cpu::Arena(layout.bytes, huge_pages, num_threads);
        store_ = Store(variables, layout, arena_.data());
        return;
    }
    memory_ = gpu::Memory(*device_, static_cast<std::size_t>(layout.bytes));
    device_->fill_zero(memory_.data(), memory_.bytes());
    store_ = Store(variables, layout, memory_.data());
    if (!apart()) return;
    mirror_.resize(region_bytes_);
    host_store_ = Store(variables, layout, mirror_.data());
}

const Store& RunMemory::host() {
    if (device_ != nullptr) device_->synchronize();
    if (!apart()) return store_;
    if (host_is_old_) {
        device_->copy(mirror_.data(), memory_.data(), region_bytes_);
        device_->synchronize();
        host_is_old_ = false;
    }
    host_may_have_written_ = true;
    return host_store_;
}

void RunMemory::before_step() {
    if (!host_may_have_written_ || !apart()) return;
    device_->copy(memory_.data(), mirror_.data(), region_bytes_);
    device_->synchronize();
    host_may_have_written_ = false;
}

void RunMemory::keep(Region region, std::int64_t bytes) {
    KeptRegion& kept = kept_[region];
    const auto size = static_cast<std::size_t>(bytes);
    if (device_ == nullptr) {
        kept.bytes.assign(store_.region(region), store_.region(region) + size);
        return;
    }
    before_step();
    if (kept.memory.bytes() != size) kept.memory = gpu::Memory(*device_, size);
    device_->copy(kept.memory.data(), store_.region(region), size);
}

void RunMemory::put_back(Region region) {
    const KeptRegion& kept = kept_.at(region);
    if (device_ == nullptr) {
        std::ranges::copy(kept.bytes, store_.region(region));
        return;
    }
    before_step();
    device_->copy(store_.region(region), kept.memory.data(), kept.memory.bytes());
    after_step();
}

void RunMemory::read(Region region, void* to, std::size_t bytes) const {
    // What the host wrote last has not been carried over yet.
    const bool from_mirror = apart() && host_may_have_written_;
    const std::byte* from = (from_mirror ? host_store_ : store_).region(region);
    if (device_ == nullptr || from_mirror) {
        std::copy_n(from, bytes, static_cast<std::byte*>(to));
        return;
    }
    device_->copy(to, from, bytes);
    device_->synchronize();
}

}  // namespace mpt
