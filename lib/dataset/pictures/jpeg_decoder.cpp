// JPEG by libjpeg-turbo. Its errors leave by longjmp, so nothing with a destructor lives in the steps below.
#include <cstdio>
// jpeglib.h needs FILE.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "dataset/pictures/decoders.h"

namespace mpt {
namespace {

constexpr int kMaxScans = 256;  // a small file can ask for thousands, each a pass over the whole picture

struct Errors {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
    bool damaged;  // pixels were made up for missing or damaged data
};

Errors& errors_of(j_common_ptr info) {
    return *reinterpret_cast<Errors*>(info->err);
}

void leave(j_common_ptr info) {
    Errors& errors = errors_of(info);
    errors.base.format_message(info, errors.message);
    std::longjmp(errors.jump, 1);
}

// libjpeg goes on after a warning; those that mean invented pixels are kept as the picture's fault.
void note_warning(j_common_ptr info, int level) {
    if (level >= 0) return;
    Errors& errors = errors_of(info);
    const int code = errors.base.msg_code;
    const bool invents = code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC;
    if (!invents || errors.damaged) return;
    errors.damaged = true;
    errors.base.format_message(info, errors.message);
}

void limit_scans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
    Errors& errors = errors_of(info);
    std::snprintf(errors.message, sizeof(errors.message), "more than %d scans", kMaxScans);
    std::longjmp(errors.jump, 1);
}

// Inverted CMYK, as in files with an Adobe marker: c k / 255.
void cmyk_to_rgb(const std::uint8_t* in, std::int64_t pixels, bool inverted, std::uint8_t* out) {
    const std::uint32_t flip = inverted ? 0 : 255;
    for (std::int64_t i = 0; i < pixels; ++i, in += 4, out += 3) {
        const std::uint32_t k = in[3] ^ flip;
        for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(((in[c] ^ flip) * k + 127) / 255);
    }
}

class JpegDecoder final : public PictureDecoder {
  public:
    explicit JpegDecoder(const PictureLimits& limits) : limits_(limits) {
        info_.err = jpeg_std_error(&errors_.base);
        errors_.base.error_exit = leave;
        errors_.base.emit_message = note_warning;
        errors_.base.output_message = [](j_common_ptr) {};
        if (!guarded([this] {
                jpeg_create_decompress(&info_);
                jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);  // EXIF
            }))
            fail();
        progress_.progress_monitor = limit_scans;
        info_.progress = &progress_;
    }
    ~JpegDecoder() override { jpeg_destroy_decompress(&info_); }

    PictureHeader open(std::span<const std::uint8_t> bytes) override;
    DecodedPart decode(const Box& box, int shrink, std::int64_t channels, Picture& out) override;
    void close() override { jpeg_abort_decompress(&info_); }

  private:
    // False when libjpeg left by an error.
    template <class Step>
    bool guarded(const Step& step) {
        if (setjmp(errors_.jump) != 0) return false;
        step();
        return true;
    }
    [[noreturn]] void fail() {
        const bool memory = errors_.base.msg_code == JERR_OUT_OF_MEMORY && !errors_.damaged;
        jpeg_abort_decompress(&info_);
        if (memory) fail_memory("JPEG");
        fail_picture(std::string("damaged JPEG: ") + errors_.message);
    }
    void choose_colours(std::int64_t channels);
    void read_rows(Picture& out, std::int64_t first, std::int64_t channels);
    int stored_orientation() const;

    PictureLimits limits_;
    Errors errors_{};
    jpeg_progress_mgr progress_{};
    jpeg_decompress_struct info_{};
    ByteBuffer row_;  // of four channels
};

// Entropy-coded data has no end marker inside: a file without one behind its header is cut off.
bool has_end_marker(std::span<const std::uint8_t> scans) {
    for (std::size_t i = scans.size(); i >= 2; --i)
        if (scans[i - 2] == 0xFF && scans[i - 1] == JPEG_EOI) return true;
    return false;
}

PictureHeader JpegDecoder::open(std::span<const std::uint8_t> bytes) {
    jpeg_abort_decompress(&info_);
    errors_.damaged = false;
    if (!guarded([&] {
            jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
            jpeg_read_header(&info_, TRUE);
        }))
        fail();
    check_limits(info_.image_height, info_.image_width, limits_);
    if (!has_end_marker(bytes.last(info_.src->bytes_in_buffer)))
        fail_picture("cut off: JPEG without an end marker after " + std::to_string(bytes.size()) + " bytes");
    PictureHeader header;
    header.height = info_.image_height;
    header.width = info_.image_width;
    header.orientation = stored_orientation();
    return header;
}

int JpegDecoder::stored_orientation() const {
    constexpr std::size_t kPrefix = 6;  // "Exif\0\0"
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next)
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length > kPrefix &&
            std::memcmp(marker->data, "Exif\0\0", kPrefix) == 0)
            return exif_orientation({marker->data + kPrefix, marker->data_length - kPrefix});
    return 1;
}

void JpegDecoder::choose_colours(std::int64_t channels) {
    switch (info_.jpeg_color_space) {
        case JCS_GRAYSCALE:
        case JCS_YCbCr:
        case JCS_RGB:
            info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
            return;
        case JCS_CMYK:
        case JCS_YCCK:
            info_.out_color_space = JCS_CMYK;
            return;
        default:
            fail_picture("JPEG with " + std::to_string(info_.num_components) + " unknown components");
    }
}

void JpegDecoder::read_rows(Picture& out, std::int64_t first, std::int64_t channels) {
    if (first > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(first));
    const bool cmyk = info_.out_color_space == JCS_CMYK;
    for (std::int64_t y = 0; y < out.height();) {
        JSAMPROW row = cmyk ? row_.data() : out.row(y);
        const std::int64_t got = jpeg_read_scanlines(&info_, &row, 1);
        if (got == 0) break;
        if (cmyk) {
            const bool inverted = info_.saw_Adobe_marker != 0;
            cmyk_to_rgb(row_.data(), out.width(), inverted, channels == 1 ? row_.data() : out.row(y));
            if (channels == 1) to_luma(row_.data(), out.width(), out.row(y));
        }
        y += got;
    }
}

DecodedPart JpegDecoder::decode(const Box& box, int shrink, std::int64_t channels, Picture& out) {
    choose_colours(channels);
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(shrink);
    JDIMENSION left = 0, width = 0;
    const Box end{box.top + box.height, box.left + box.width, 0, 0};
    const std::int64_t first = box.top / shrink;
    const std::int64_t first_column = box.left / shrink;
    if (!guarded([&] {
            jpeg_start_decompress(&info_);
            // One column more on each side: the chroma of a column at the edge is made from its neighbour.
            const std::int64_t from = std::max<std::int64_t>(first_column - 1, 0);
            const std::int64_t to =
                std::min<std::int64_t>((end.left + shrink - 1) / shrink + 1, info_.output_width);
            left = static_cast<JDIMENSION>(from);
            width = static_cast<JDIMENSION>(to - from);
            if (width < info_.output_width) jpeg_crop_scanline(&info_, &left, &width);
        }))
        fail();
    const std::int64_t last = std::min<std::int64_t>((end.top + shrink - 1) / shrink, info_.output_height);
    out.reshape(last - first, width, channels);
    if (info_.out_color_space == JCS_CMYK && row_.size() < std::size_t{width} * 4)
        row_ = ByteBuffer(std::size_t{width} * 4);
    if (!guarded([&] { read_rows(out, first, channels); })) fail();
    if (errors_.damaged) fail();

    const std::int64_t columns =
        std::min<std::int64_t>((end.left + shrink - 1) / shrink, std::int64_t{left} + width) - first_column;
    DecodedPart part;
    part.pixels = out.view().part({0, first_column - left, out.height(), columns});
    const double scale = 1.0 / shrink;
    part.area = {static_cast<double>(box.top) * scale - static_cast<double>(first),
                 static_cast<double>(box.left) * scale - static_cast<double>(first_column),
                 static_cast<double>(box.height) * scale, static_cast<double>(box.width) * scale};
    // The last row or column of a shrunk picture stands for fewer pixels than the others.
    part.area.height = std::min(part.area.height, static_cast<double>(part.pixels.height) - part.area.top);
    part.area.width = std::min(part.area.width, static_cast<double>(part.pixels.width) - part.area.left);
    return part;
}

}  // namespace

std::unique_ptr<PictureDecoder> make_jpeg_decoder(const PictureLimits& limits) {
    return std::make_unique<JpegDecoder>(limits);
}

}  // namespace mpt
