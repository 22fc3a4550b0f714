// A stack that can be left and entered again. Switching is a dozen instructions on x86-64, ucontext
// elsewhere.
#pragma once

#include <cstddef>
#include <memory>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace mpt::gpu::emulator {

class Fiber {
  public:
    Fiber();
    // The next enter() runs `entry`, which must leave() for the last time and never return.
    void prepare(void (*entry)());
    void enter();  // from the scheduler; comes back when the fiber leaves
    void leave();  // from the fiber

  private:
    std::unique_ptr<std::byte[]> stack_;
#ifdef __x86_64__
    void* own_ = nullptr;  // stack pointers while suspended
    void* scheduler_ = nullptr;
#else
    ucontext_t own_{}, scheduler_{};
#endif
    void* scheduler_fake_stack_ = nullptr;  // of the address sanitizer
    const void* scheduler_bottom_ = nullptr;
    std::size_t scheduler_size_ = 0;
    friend void begin_on_fiber(Fiber& fiber);
};

// To be called first by an entry function.
void begin_on_fiber(Fiber& fiber);

}  // namespace mpt::gpu::emulator
