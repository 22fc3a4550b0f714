#include "backends/cuda/host_twin/emulator.h"

#include <array>
#include <deque>
#include <string>

#include "backends/cuda/host_twin/fiber.h"
#include "core/error.h"

namespace mpt::gpu::emulator {

namespace {

enum class State : std::uint8_t { kReady, kAtBlockBarrier, kAtWarpBarrier, kDone };

struct Thread {
    Fiber fiber;
    State state = State::kDone;
    Where where = {};
    bool orders_memory = false;  // what it waits for: sync_warp, not a shuffle
    bool odd_exchange = false;
    std::array<std::uint64_t, 2> given{};  // of the last two exchanges: nobody can be further ahead
};

std::string text_of(Where where) {
    const std::string file = where.file_name();
    return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line());
}
bool same_place(Where a, Where b) {
    return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

// One block at a time on one OS thread.
struct Block {
    std::deque<Thread> threads;
    std::deque<SharedBuffer> static_buffers;  // one a key; reset for each block
    SharedBuffer dynamic_buffer;
    const std::function<void()>* body = nullptr;
    Grid grid;
    std::uint32_t block_epoch = 0;
    std::array<std::uint32_t, kMaxThreads / kWarp> warp_epochs{};
    std::string fault;
    bool on_fibers = false;

    void run();
    void run_warp(unsigned warp);
    void run_thread(unsigned index);
    bool release_warp(unsigned warp);
    bool release_block();
    [[noreturn]] void raise(const std::string& what);
    unsigned num_warps() const { return (grid.threads + kWarp - 1) / kWarp; }
    unsigned warp_end(unsigned warp) const { return std::min(grid.threads, (warp + 1) * kWarp); }
};
thread_local Block block;

std::string thread_text(unsigned thread) {
    return "thread " + std::to_string(thread) + " of block " + std::to_string(here.block_x) +
           (here.blocks_y > 1 ? "," + std::to_string(here.block_y) : "");
}

// A fault of the running thread. Its fiber is abandoned: kernels own nothing.
[[noreturn]] void fault(const std::string& what) {
    if (!block.on_fibers) throw InternalError("kernel fault: " + what);
    block.fault = what;
    block.threads[here.thread].fiber.leave();
    std::terminate();
}

void fiber_main() {
    Thread& thread = block.threads[here.thread];
    begin_on_fiber(thread.fiber);
    (*block.body)();
    Thread& self = block.threads[here.thread];
    self.state = State::kDone;
    self.fiber.leave();
    std::terminate();
}

void Block::raise(const std::string& what) {
    on_fibers = false;
    throw InternalError("kernel fault: " + what);
}

void Block::run_thread(unsigned index) {
    here.thread = index;
    threads[index].fiber.enter();
    if (!fault.empty()) {
        const std::string what = std::move(fault);
        fault.clear();
        raise(what);
    }
}

// Lanes run until each is done or waits for the block.
void Block::run_warp(unsigned warp) {
    const unsigned first = warp * kWarp, end = warp_end(warp);
    do {
        for (unsigned i = first; i < end; ++i) {
            const unsigned index = grid.last_first ? end - 1 - (i - first) : i;
            if (threads[index].state == State::kReady) run_thread(index);
        }
    } while (release_warp(warp));
}

bool Block::release_warp(unsigned warp) {
    const Thread* waiting = nullptr;
    for (unsigned i = warp * kWarp; i < warp_end(warp); ++i) {
        const Thread& thread = threads[i];
        if (thread.state == State::kDone) continue;
        if (thread.state != State::kAtWarpBarrier) return false;
        if (waiting != nullptr && !same_place(waiting->where, thread.where))
            raise("divergent warp: " + thread_text(i) + " waits at " + text_of(thread.where) +
                  ", another lane at " + text_of(waiting->where));
        waiting = &thread;
    }
    if (waiting == nullptr) return false;
    if (waiting->orders_memory) ++warp_epochs[warp];
    for (unsigned i = warp * kWarp; i < warp_end(warp); ++i)
        if (threads[i].state == State::kAtWarpBarrier) threads[i].state = State::kReady;
    return true;
}

// Whether any thread goes on; raises when threads are left that never can.
bool Block::release_block() {
    const Thread* waiting = nullptr;
    for (unsigned i = 0; i < grid.threads; ++i) {
        const Thread& thread = threads[i];
        if (thread.state == State::kDone) continue;
        if (thread.state != State::kAtBlockBarrier)
            raise("divergent barrier: " + thread_text(i) + " waits for its warp at " + text_of(thread.where) +
                  ", whose other lanes left or wait for the block");
        if (waiting != nullptr && !same_place(waiting->where, thread.where))
            raise("divergent barrier: " + thread_text(i) + " waits at " + text_of(thread.where) +
                  ", others of its block at " + text_of(waiting->where));
        waiting = &thread;
    }
    if (waiting == nullptr) return false;
    for (unsigned i = 0; i < grid.threads; ++i)
        if (threads[i].state == State::kAtBlockBarrier) threads[i].state = State::kReady;
    ++block_epoch;
    return true;
}

void Block::run() {
    while (threads.size() < grid.threads) threads.emplace_back();
    for (SharedBuffer& buffer : static_buffers) buffer.elements = 0;
    dynamic_buffer.elements = 0;
    for (unsigned i = 0; i < grid.threads; ++i) {
        threads[i].fiber.prepare(fiber_main);
        threads[i].state = State::kReady;
        threads[i].odd_exchange = false;
    }
    on_fibers = true;
    do {
        for (unsigned w = 0; w < num_warps(); ++w) run_warp(grid.last_first ? num_warps() - 1 - w : w);
    } while (release_block());
    on_fibers = false;
}

void wait(State state, bool orders_memory, Where where) {
    if (!block.on_fibers)
        fault("a kernel launched as one whose threads never meet waits at " + text_of(where));
    Thread& self = block.threads[here.thread];
    self.state = state;
    self.orders_memory = orders_memory;
    self.where = where;
    self.fiber.leave();
}

Touch touch_now() {
    return {here.thread, block.block_epoch, block.warp_epochs[here.thread / kWarp], true};
}
// Whether a barrier stands between an earlier touch and the running thread.
bool is_ordered(const Touch& earlier) {
    if (!earlier.valid || earlier.thread == here.thread || earlier.block_epoch != block.block_epoch)
        return true;
    const unsigned warp = here.thread / kWarp;
    return earlier.thread / kWarp == warp && earlier.warp_epoch != block.warp_epochs[warp];
}

void check_index(const SharedBuffer& buffer, std::size_t index, Where where) {
    if (index >= buffer.elements)
        fault(thread_text(here.thread) + " touches element " + std::to_string(index) + " of " +
              std::to_string(buffer.elements) + " in shared memory at " + text_of(where) + ": out of bounds");
}
[[noreturn]] void race(const char* now, const char* before, const Touch& earlier, std::size_t index,
                       Where where) {
    fault("race in shared memory: " + thread_text(here.thread) + " " + now + " element " +
          std::to_string(index) + " at " + text_of(where) + ", thread " + std::to_string(earlier.thread) +
          " " + before + " it with no barrier between");
}

}  // namespace

void run_grid(const Grid& grid, const std::function<void()>& thread) {
    MPT_CHECK(grid.threads >= 1 && grid.threads <= kMaxThreads, "a block of " + std::to_string(grid.threads));
    MPT_CHECK(!block.on_fibers, "a kernel that launches a kernel");
    block.grid = grid;
    block.static_buffers.clear();
    block.body = &thread;
    here = {0, 0, 0, grid.threads, grid.blocks_x, grid.blocks_y};
    const std::uint64_t blocks = std::uint64_t{grid.blocks_x} * grid.blocks_y;
    for (std::uint64_t i = 0; i < blocks; ++i) {
        const std::uint64_t b = grid.last_first ? blocks - 1 - i : i;
        here.block_x = static_cast<unsigned>(b % grid.blocks_x);
        here.block_y = static_cast<unsigned>(b / grid.blocks_x);
        if (grid.threads_meet) {
            block.run();
            continue;
        }
        for (unsigned t = 0; t < grid.threads; ++t) {
            here.thread = t;
            thread();
        }
    }
}

void sync_block(Where where) {
    wait(State::kAtBlockBarrier, true, where);
}

void sync_warp(Where where) {
    wait(State::kAtWarpBarrier, true, where);
}

std::uint64_t exchange(std::uint64_t value, unsigned lane, Where where) {
    if (!block.on_fibers)
        fault("a kernel launched as one whose threads never meet shuffles at " + text_of(where));
    Thread& self = block.threads[here.thread];
    const std::size_t parity = self.odd_exchange ? 1 : 0;
    self.given[parity] = value;
    self.odd_exchange = !self.odd_exchange;
    wait(State::kAtWarpBarrier, false, where);
    const unsigned from = here.thread / kWarp * kWarp + lane % kWarp;
    return from < block.grid.threads ? block.threads[from].given[parity] : value;
}

SharedBuffer& shared_buffer(const void* key, std::size_t elements, std::size_t element_bytes, bool dynamic) {
    if (!block.on_fibers) fault("shared memory in a kernel launched as one whose threads never meet");
    SharedBuffer* buffer = dynamic ? &block.dynamic_buffer : nullptr;
    for (SharedBuffer& known : block.static_buffers)
        if (!dynamic && known.key == key) buffer = &known;
    if (buffer == nullptr) {
        buffer = &block.static_buffers.emplace_back();
        buffer->key = key;
    }
    if (dynamic && elements * element_bytes > block.grid.shared_bytes)
        fault("dynamic shared memory of " + std::to_string(elements * element_bytes) +
              " bytes, launched with " + std::to_string(block.grid.shared_bytes));
    if (buffer->elements == 0) {
        buffer->elements = elements;
        buffer->element_bytes = element_bytes;
        buffer->bytes.assign(elements * element_bytes, std::byte{0xff});
        buffer->cells.assign(elements, {});
        std::size_t total = block.grid.shared_bytes;
        for (const SharedBuffer& known : block.static_buffers) total += known.elements * known.element_bytes;
        if (total > block.grid.shared_limit)
            fault("shared memory of " + std::to_string(total) + " bytes a block, where the device has " +
                  std::to_string(block.grid.shared_limit));
    }
    return *buffer;
}

void check_aligned(const void* address, std::size_t bytes) {
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
        fault(thread_text(here.thread) + " moves " + std::to_string(bytes) +
              " bytes at once from or to an address that is no multiple of them: misaligned");
}

void note_read(SharedBuffer& buffer, std::size_t index, Where where) {
    check_index(buffer, index, where);
    Cell& cell = buffer.cells[index];
    if (!cell.writer.valid)
        fault(thread_text(here.thread) + " reads element " + std::to_string(index) + " at " + text_of(where) +
              ": shared memory that nobody wrote, uninitialised");
    if (!is_ordered(cell.writer)) race("reads", "wrote", cell.writer, index, where);
    if (cell.reader.valid && cell.reader.thread != here.thread) cell.other_reader = cell.reader;
    cell.reader = touch_now();
}

void note_write(SharedBuffer& buffer, std::size_t index, Where where) {
    check_index(buffer, index, where);
    Cell& cell = buffer.cells[index];
    if (!is_ordered(cell.writer)) race("writes", "wrote", cell.writer, index, where);
    for (const Touch& reader : {cell.reader, cell.other_reader})
        if (!is_ordered(reader)) race("writes", "read", reader, index, where);
    cell = {touch_now(), {}, {}};
}

}  // namespace mpt::gpu::emulator
