#include "backends/cpu/arena.h"

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <utility>

#include "backends/cpu/threads.h"
#include "core/error.h"

namespace mpt::cpu {

namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}

Arena::Arena(std::int64_t bytes, bool huge_pages, int num_threads) : bytes_(bytes) {
    mapped_ = (static_cast<std::size_t>(bytes) + kHugePage - 1) / kHugePage * kHugePage + kHugePage;
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) {
        mapping_ = nullptr;
        throw Error(ExitCode::kResource, "memory: the system refused " + std::to_string(bytes) + " bytes (" +
                                             std::strerror(errno) +
                                             "); use a smaller train.batch_size or more train.accumulate");
    }
    const std::size_t address = reinterpret_cast<std::size_t>(mapping_);
    data_ = static_cast<std::byte*>(mapping_) + (kHugePage - address % kHugePage) % kHugePage;
    const std::size_t whole = static_cast<std::size_t>(bytes) / kHugePage * kHugePage;
    if (huge_pages && whole != 0) madvise(data_, whole, MADV_HUGEPAGE);
    parallel_for(bytes, static_cast<std::int64_t>(kHugePage), num_threads, [&](Range range, int) {
        std::memset(data_ + range.begin, 0, static_cast<std::size_t>(range.end - range.begin));
    });
}

Arena::~Arena() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

Arena::Arena(Arena&& other) noexcept {
    *this = std::move(other);
}

Arena& Arena::operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    return *this;
}

}  // namespace mpt::cpu
