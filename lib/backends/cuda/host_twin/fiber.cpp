#include "backends/cuda/host_twin/fiber.h"

#include <cstdint>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace mpt::gpu::emulator {

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 32 * 1024;
#endif

void about_to_switch([[maybe_unused]] void** fake, [[maybe_unused]] const void* bottom,
                     [[maybe_unused]] std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(fake, bottom, bytes);
#endif
}
void has_switched([[maybe_unused]] void* fake, [[maybe_unused]] const void** bottom,
                  [[maybe_unused]] std::size_t* bytes) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, bottom, bytes);
#endif
}

}  // namespace

#ifdef __x86_64__
// Saves the registers that a call keeps (System V ABI), swaps stacks, and returns on the other one.
extern "C" void mpt_switch_stack(void** save, void* load);
asm(R"(
.text
.type mpt_switch_stack, @function
mpt_switch_stack:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size mpt_switch_stack, .-mpt_switch_stack
)");
#endif

Fiber::Fiber() : stack_(new std::byte[kStackBytes]) {}

void Fiber::prepare(void (*entry)()) {
#ifdef __x86_64__
    const auto top = reinterpret_cast<std::uintptr_t>(stack_.get() + kStackBytes) / 16 * 16;
    auto* slots = reinterpret_cast<std::uintptr_t*>(top) - 8;
    for (int i = 0; i < 6; ++i) slots[i] = 0;
    slots[6] = reinterpret_cast<std::uintptr_t>(entry);
    slots[7] = 0;  // where entry would return to
    own_ = slots;
#else
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStackBytes;
    own_.uc_link = nullptr;
    makecontext(&own_, entry, 0);
#endif
}

void Fiber::enter() {
    void* fake = nullptr;
    about_to_switch(&fake, stack_.get(), kStackBytes);
#ifdef __x86_64__
    mpt_switch_stack(&scheduler_, own_);
#else
    swapcontext(&scheduler_, &own_);
#endif
    has_switched(fake, nullptr, nullptr);
}

void Fiber::leave() {
    about_to_switch(&scheduler_fake_stack_, scheduler_bottom_, scheduler_size_);
#ifdef __x86_64__
    mpt_switch_stack(&own_, scheduler_);
#else
    swapcontext(&own_, &scheduler_);
#endif
    has_switched(scheduler_fake_stack_, &scheduler_bottom_, &scheduler_size_);
}

void begin_on_fiber(Fiber& fiber) {
    has_switched(nullptr, &fiber.scheduler_bottom_, &fiber.scheduler_size_);
}

}  // namespace mpt::gpu::emulator
