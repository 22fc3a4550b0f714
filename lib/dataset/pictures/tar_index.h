// The members of a tar archive (ustar, with GNU and pax extensions for long names and large sizes): names,
// and where their bytes lie. Nothing but headers is read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace mpt {

struct TarMember {
    std::string name;
    std::uint64_t offset = 0, size = 0;  // of the contents
};

// Bytes that can be read at any place; false when they end before `out` is full.
struct TarBytes {
    std::uint64_t size = 0;
    std::function<bool(std::uint64_t offset, std::span<std::uint8_t> out)> read;
};

// Calls visit for each regular file in order. Throws Error(kData) with what is wrong and where, without the
// archive's name.
void each_member(const TarBytes& bytes, const std::function<void(const TarMember&)>& visit);

constexpr std::uint64_t kTarBlock = 512;
// The header block of a regular file; names of up to 100 bytes.
std::string tar_header(const std::string& name, std::uint64_t size);

}  // namespace mpt
