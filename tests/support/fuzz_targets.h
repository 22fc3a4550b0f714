// What the fuzz targets do with one input: anything but a result or an Error is a finding. tests/fuzz/ gives
// them to libFuzzer, picture_fuzz_test.cpp calls them with mutated files in every test run.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "dataset/pictures/picture_reader.h"
#include "dataset/pictures/resize.h"
#include "dataset/pictures/shard_index.h"
#include "dataset/pictures/tar_index.h"

namespace mpt::test {

using FuzzInput = std::span<const std::uint8_t>;

// The last bytes choose the box, the shrink and the channels; all pixels that come out are read.
inline void fuzz_picture(FuzzInput input, const char* magic, std::size_t magic_bytes) {
    if (input.size() < magic_bytes + 6) return;
    const FuzzInput choice = input.last(6);
    std::vector<std::uint8_t> file(input.begin(), input.end() - 6);
    std::memcpy(file.data(), magic, std::min(magic_bytes, file.size()));
    try {
        PictureReader reader({.max_side = 4096, .max_pixels = 1 << 18});
        const PictureHeader header = reader.open(file);
        const auto pick = [](std::uint8_t byte, std::int64_t bound) { return byte * bound / 256; };
        Box box;
        box.top = pick(choice[0], header.height);
        box.left = pick(choice[1], header.width);
        box.height = 1 + pick(choice[2], header.height - box.top);
        box.width = 1 + pick(choice[3], header.width - box.left);
        Picture out;
        const DecodedPart part = reader.decode(box, 1 << (choice[4] % 4), choice[5] % 2 == 0 ? 3 : 1, out);
        std::vector<std::uint8_t> small(std::size_t{9} * 7 * 3);
        Resizer().resize(part.pixels, part.area, 9, 7, small.data());
        std::vector<std::uint8_t> upright(small.size());
        orient({small.data(), 9, 7, part.pixels.channels, 7 * part.pixels.channels}, header.orientation,
               upright.data());
    } catch (const Error&) {
    }
}

inline void fuzz_jpeg(FuzzInput input) {
    fuzz_picture(input, "\xFF\xD8\xFF", 3);
}
inline void fuzz_png(FuzzInput input) {
    fuzz_picture(input, "\x89PNG\r\n\x1A\n", 8);
}
inline void fuzz_webp(FuzzInput input) {
    if (input.size() < 12) return;
    std::vector<std::uint8_t> file(input.begin(), input.end());
    std::memcpy(file.data() + 8, "WEBP", 4);
    fuzz_picture(file, "RIFF", 4);
}

inline void fuzz_tar(FuzzInput input) {
    const TarBytes bytes{input.size(), [input](std::uint64_t offset, std::span<std::uint8_t> out) {
                             if (offset > input.size() || input.size() - offset < out.size()) return false;
                             std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(offset), out.size(),
                                         out.begin());
                             return true;
                         }};
    try {
        each_member(bytes, [&](const TarMember& member) {
            if (member.offset > input.size() || member.size > input.size() - member.offset) std::abort();
        });
    } catch (const Error&) {
    }
}

// An index that is accepted prints as it was read.
inline void fuzz_shard_index(FuzzInput input) {
    const std::string text(input.begin(), input.end());
    try {
        if (parse_shard_index(print(parse_shard_index(text, "x")), "x").pictures.size() > text.size())
            std::abort();
    } catch (const Error&) {
    }
}

}  // namespace mpt::test
