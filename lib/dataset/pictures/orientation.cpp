// EXIF orientation: what the tag says, and what it means for boxes and pixels.
#include <algorithm>

#include "dataset/pictures/picture_reader.h"

namespace mpt {
namespace {

// Reads numbers of a TIFF block in its byte order; 0 past the end.
struct Tiff {
    std::span<const std::uint8_t> bytes;
    bool big_endian = false;
    std::uint32_t number(std::size_t at, std::size_t size) const {
        if (at > bytes.size() || bytes.size() - at < size) return 0;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value = value << 8 | bytes[at + (big_endian ? i : size - 1 - i)];
        return value;
    }
};

// The tag's eight values: is the stored picture mirrored along x, along y, and transposed, to make the
// upright one? upright(y, x) = stored(y', x'), where (y', x') is swapped first and then mirrored.
struct Turn {
    bool mirror_x, mirror_y, transpose;
};
Turn turn_of(int orientation) {
    constexpr Turn kTurns[8] = {{false, false, false}, {true, false, false}, {true, true, false},
                                {false, true, false},  {false, false, true}, {false, true, true},
                                {true, true, true},    {true, false, true}};
    return kTurns[orientation - 1];
}

}  // namespace

int exif_orientation(std::span<const std::uint8_t> tiff) {
    constexpr std::uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;
    if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
    const Tiff file{tiff, tiff[0] == 'M'};
    if (file.number(2, 2) != 42) return 1;
    const std::size_t directory = file.number(4, 4);
    const std::uint32_t entries = file.number(directory, 2);
    for (std::uint32_t i = 0; i < entries; ++i) {
        const std::size_t at = directory + 2 + std::size_t{i} * 12;
        if (at + 12 > tiff.size()) return 1;
        const std::uint32_t type = file.number(at + 2, 2);
        if (file.number(at, 2) != kOrientation || (type != kShort && type != kLong)) continue;
        const std::uint32_t value = file.number(at + 8, type == kShort ? 2 : 4);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

Box stored_box(const PictureHeader& header, const Box& upright) {
    const Turn turn = turn_of(header.orientation);
    Box box = upright;
    if (turn.transpose) box = {upright.left, upright.top, upright.width, upright.height};
    if (turn.mirror_x) box.left = header.width - box.left - box.width;
    if (turn.mirror_y) box.top = header.height - box.top - box.height;
    return box;
}

void orient(const PictureView& in, int orientation, std::uint8_t* out) {
    const Turn turn = turn_of(orientation);
    const std::int64_t height = turn.transpose ? in.width : in.height;
    const std::int64_t width = turn.transpose ? in.height : in.width;
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x, out += in.channels) {
            std::int64_t from_y = turn.transpose ? x : y, from_x = turn.transpose ? y : x;
            if (turn.mirror_x) from_x = in.width - 1 - from_x;
            if (turn.mirror_y) from_y = in.height - 1 - from_y;
            std::copy_n(in.row(from_y) + from_x * in.channels, in.channels, out);
        }
    }
}

}  // namespace mpt
