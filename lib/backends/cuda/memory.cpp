#include <utility>

#include "backends/cuda/device.h"

namespace mpt::gpu {

namespace {
thread_local Device* of_scope = nullptr;
}

DeviceScope::DeviceScope(Device* device) : before_(std::exchange(of_scope, device)) {}

DeviceScope::~DeviceScope() {
    of_scope = before_;
}

Device* current_device() {
    return of_scope;
}

void Device::beside(const std::function<void()>& work) {
    struct Swapped {
        void *&first, *&second;
        Swapped(void*& a, void*& b) : first(a), second(b) { std::swap(first, second); }
        ~Swapped() { std::swap(first, second); }
    } const swapped(stream_, second_stream_);
    work();
}

Memory::Memory(Device& device, std::size_t bytes)
    : device_(&device), data_(bytes == 0 ? nullptr : device.allocate(bytes)), bytes_(bytes) {}

Memory::~Memory() {
    if (data_ != nullptr) device_->release(data_);
}

Memory::Memory(Memory&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace mpt::gpu
