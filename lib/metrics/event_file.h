// TensorBoard's event files: TFRecords of hand-encoded Event messages, scalars only.
// https://github.com/tensorflow/tensorboard: compat/proto/event.proto, summary.proto.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpt {

struct Scalar {
    std::string tag;
    double value = 0;  // stored as f32
};

class EventFile {
  public:
    // Makes `folder`/events.out.tfevents.<seconds>.<host>.<pid>. Events of earlier files from `first_step` on
    // no longer count: a resumed run writes them again. Throws Error(kResource).
    EventFile(const std::string& folder, std::int64_t first_step);
    void write(std::int64_t step, const std::vector<Scalar>& scalars);
    const std::string& path() const { return path_; }

  private:
    void write_record(std::string_view event);
    struct CloseFile {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string path_;
    std::unique_ptr<std::FILE, CloseFile> file_;
};

// CRC-32C (Castagnoli), and the masked form that records carry.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace mpt
