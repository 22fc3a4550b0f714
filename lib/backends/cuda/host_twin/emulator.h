// Runs a CUDA kernel's source on the CPU: one fiber a thread of a block, blocks one after another. It finds
// what a GPU would let pass in silence: barriers that not all threads of a block reach, shared memory read
// before it is written, past its end, or by two threads with no barrier between them. Blocks run in an order
// that can be turned round, so that what depends on the order of blocks shows as different bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <vector>

namespace mpt::gpu::emulator {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kMaxThreads = 1024;

struct Grid {
    unsigned blocks_x = 1, blocks_y = 1, threads = 1;
    std::size_t shared_bytes = 0;
    std::size_t shared_limit = SIZE_MAX;  // of a block, static and dynamic memory together
    bool threads_meet = true;             // false: no barrier, shuffle or shared memory; run as plain calls
    bool last_first = false;              // order of blocks, and of threads between barriers
};

// Runs `thread` for every thread of the grid; throws InternalError at the first fault.
void run_grid(const Grid& grid, const std::function<void()>& thread);

// What the running thread sees.
struct Place {
    unsigned thread = 0, block_x = 0, block_y = 0;
    unsigned threads = 1, blocks_x = 1, blocks_y = 1;
};
inline constinit thread_local Place here{};

using Where = std::source_location;
void sync_block(Where where);
void sync_warp(Where where);
// The value that another lane of the warp gives in the same call.
std::uint64_t exchange(std::uint64_t value, unsigned lane, Where where);

// Memory of a block: which bytes, and who touched each element when.
struct Touch {
    std::uint32_t thread = 0, block_epoch = 0, warp_epoch = 0;
    bool valid = false;
};
struct Cell {
    Touch writer, reader, other_reader;
};
struct SharedBuffer {
    const void* key = nullptr;
    std::size_t element_bytes = 0, elements = 0;
    std::vector<std::byte> bytes;
    std::vector<Cell> cells;
};
SharedBuffer& shared_buffer(const void* key, std::size_t elements, std::size_t element_bytes, bool dynamic);
void note_read(SharedBuffer& buffer, std::size_t index, Where where);
void note_write(SharedBuffer& buffer, std::size_t index, Where where);
// A vector access of `bytes` wants an address that is a multiple of them.
void check_aligned(const void* address, std::size_t bytes);

template <typename T>
class SharedArray {
  public:
    explicit SharedArray(SharedBuffer& buffer) : buffer_(&buffer) {}
    T get(std::size_t index, Where where = Where::current()) const {
        note_read(*buffer_, index, where);
        T value;
        std::memcpy(&value, buffer_->bytes.data() + index * sizeof(T), sizeof(T));
        return value;
    }
    void put(std::size_t index, T value, Where where = Where::current()) const {
        note_write(*buffer_, index, where);
        std::memcpy(buffer_->bytes.data() + index * sizeof(T), &value, sizeof(T));
    }

  private:
    SharedBuffer* buffer_;
};

}  // namespace mpt::gpu::emulator
