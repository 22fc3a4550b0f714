// PNG by libpng, to the end of the file, so that every checksum is compared. As with libjpeg, errors leave by
// longjmp.
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dataset/pictures/decoders.h"

namespace mpt {
namespace {

constexpr png_alloc_size_t kMaxChunkBytes = 8 << 20;  // of text, profiles and EXIF

struct Input {
    std::span<const std::uint8_t> bytes;
    std::size_t position = 0;
    char message[128] = {};
    bool out_of_memory = false;
};

void read_bytes(png_structp png, png_bytep out, std::size_t length) {
    Input& input = *static_cast<Input*>(png_get_io_ptr(png));
    if (input.bytes.size() - input.position < length) png_error(png, "cut off");
    std::memcpy(out, input.bytes.data() + input.position, length);
    input.position += length;
}

// As libpng's own, and remembers that there was none: its messages do not tell that from damage.
png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) static_cast<Input*>(png_get_mem_ptr(png))->out_of_memory = true;
    return memory;
}
void release(png_structp, png_voidp memory) {
    std::free(memory);
}

// A chunk that says how the picture is turned may lie behind its pixels, where png_read_info() does not come.
std::span<const std::uint8_t> find_exif(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kSignature = 8, kAround = 12;  // length, type and CRC of a chunk
    const auto number = [&](std::size_t at) {
        return std::size_t{bytes[at]} << 24 | std::size_t{bytes[at + 1]} << 16 |
               std::size_t{bytes[at + 2]} << 8 | bytes[at + 3];
    };
    for (std::size_t at = kSignature; at + kAround <= bytes.size();) {
        const std::size_t length = number(at);
        if (length > bytes.size() - at - kAround) break;
        if (std::memcmp(bytes.data() + at + 4, "eXIf", 4) == 0 &&
            crc32_z(0, bytes.data() + at + 4, length + 4) == number(at + 8 + length))
            return bytes.subspan(at + 8, length);
        at += kAround + length;
    }
    return {};
}

void leave(png_structp png, png_const_charp message) {
    Input& input = *static_cast<Input*>(png_get_error_ptr(png));
    std::snprintf(input.message, sizeof(input.message), "%s", message);
    png_longjmp(png, 1);
}

class PngDecoder final : public PictureDecoder {
  public:
    explicit PngDecoder(const PictureLimits& limits) : limits_(limits) {}
    ~PngDecoder() override { close(); }

    PictureHeader open(std::span<const std::uint8_t> bytes) override;
    DecodedPart decode(const Box& box, int shrink, std::int64_t channels, Picture& out) override;
    void close() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  private:
    template <class Step>
    bool guarded(const Step& step) {
        if (setjmp(png_jmpbuf(png_)) != 0) return false;
        step();
        return true;
    }
    [[noreturn]] void fail() {
        close();
        if (input_.out_of_memory) fail_memory("PNG");
        fail_picture(std::string("damaged PNG: ") + input_.message);
    }
    void read_passes(const Box& box, int passes, std::int64_t channels, Picture& out);
    void keep(const std::uint8_t* row, const Box& box, std::int64_t channels, std::uint8_t* out) const;

    PictureLimits limits_;
    Input input_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::int64_t row_bytes_ = 0, row_channels_ = 0;
    ByteBuffer rows_;  // one, or all of an interlaced picture
};

PictureHeader PngDecoder::open(std::span<const std::uint8_t> bytes) {
    close();
    input_ = {bytes, 0, {}, false};
    png_ = png_create_read_struct_2(
        PNG_LIBPNG_VER_STRING, &input_, leave, [](png_structp, png_const_charp) {}, &input_, allocate,
        release);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) fail_memory("PNG");
    png_uint_32 height = 0, width = 0;
    if (!guarded([&] {
            png_set_read_fn(png_, &input_, read_bytes);
            png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // ours says more
            png_set_chunk_malloc_max(png_, kMaxChunkBytes);
            png_read_info(png_, info_);
            height = png_get_image_height(png_, info_);
            width = png_get_image_width(png_, info_);
        }))
        fail();
    try {
        check_limits(height, width, limits_);
    } catch (const Error&) {
        close();
        throw;
    }
    PictureHeader header;
    header.height = height;
    header.width = width;
    header.orientation = exif_orientation(find_exif(bytes));
    return header;
}

// The box of a row of grey or RGB, in the channels asked for.
void PngDecoder::keep(const std::uint8_t* row, const Box& box, std::int64_t channels,
                      std::uint8_t* out) const {
    const std::uint8_t* from = row + box.left * row_channels_;
    if (channels == row_channels_)
        std::memcpy(out, from, static_cast<std::size_t>(box.width * channels));
    else
        to_luma(from, box.width, out);
}

void PngDecoder::read_passes(const Box& box, int passes, std::int64_t channels, Picture& out) {
    const std::int64_t height = png_get_image_height(png_, info_);
    for (int pass = 0; pass < passes; ++pass) {
        for (std::int64_t y = 0; y < height; ++y) {
            // Passes of an interlaced picture fill in one another's rows.
            std::uint8_t* row = rows_.data() + (passes > 1 ? y * row_bytes_ : 0);
            png_read_row(png_, row, nullptr);
            if (pass + 1 == passes && y >= box.top && y < box.top + box.height)
                keep(row, box, channels, out.row(y - box.top));
        }
    }
    png_read_end(png_, nullptr);
}

DecodedPart PngDecoder::decode(const Box& box, int, std::int64_t channels, Picture& out) {
    int passes = 1;
    if (!guarded([&] {
            png_set_expand(png_);
            png_set_scale_16(png_);
            png_set_strip_alpha(png_);
            if (channels == 3) png_set_gray_to_rgb(png_);
            passes = png_set_interlace_handling(png_);
            png_read_update_info(png_, info_);
            row_bytes_ = static_cast<std::int64_t>(png_get_rowbytes(png_, info_));
            row_channels_ = png_get_channels(png_, info_);
        }))
        fail();
    const std::int64_t height = png_get_image_height(png_, info_);
    const auto needed = static_cast<std::size_t>(row_bytes_ * (passes > 1 ? height : 1));
    if (rows_.size() < needed) rows_ = ByteBuffer(needed);
    out.reshape(box.height, box.width, channels);
    if (!guarded([&] { read_passes(box, passes, channels, out); })) fail();
    return {out.view(), {0, 0, static_cast<double>(box.height), static_cast<double>(box.width)}};
}

}  // namespace

std::unique_ptr<PictureDecoder> make_png_decoder(const PictureLimits& limits) {
    return std::make_unique<PngDecoder>(limits);
}

}  // namespace mpt
