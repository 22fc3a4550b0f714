#include "exec/staging.h"

#include <algorithm>

namespace mpt {

Staging::Staging(gpu::Device& device, std::size_t input_bytes) : device_(device) {
    for (Slot& slot : slots_) {
        slot.pinned = device_.allocate_pinned(std::max<std::size_t>(input_bytes, 1));
        slot.ready = device_.make_event();
        slot.read = device_.make_event();
    }
}

Staging::~Staging() {
    for (const Slot& slot : slots_) device_.release_pinned(slot.pinned);
}

Staging::Slot& Staging::writable() {
    Slot& slot = slots_[static_cast<std::size_t>(next_)];
    slot.ready->wait();
    return slot;
}

}  // namespace mpt
