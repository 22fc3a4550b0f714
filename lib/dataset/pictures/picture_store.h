// The compressed pictures of a data set, by number: files in class folders, or members of tar shards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/byte_buffer.h"
#include "dataset/image_source.h"

namespace mpt {

class PictureStore {
  public:
    PictureStore() = default;
    virtual ~PictureStore() = default;
    PictureStore(const PictureStore&) = delete;
    PictureStore& operator=(const PictureStore&) = delete;

    virtual std::int64_t size() const = 0;
    virtual std::int32_t label(std::int64_t index) const = 0;
    virtual std::string name(std::int64_t index) const = 0;  // for messages: a path
    // What tells the picture from others of its data set, wherever that lies.
    virtual std::string key(std::int64_t index) const = 0;
    // The bytes of the picture, in `buffer`, which grows as needed. Throws Error(kData) with what is wrong,
    // without the name. Safe from many threads.
    virtual std::span<const std::uint8_t> read(std::int64_t index, ByteBuffer& buffer) const = 0;
    virtual std::int64_t memory_bytes() const = 0;
    // Reads everything that has a stored checksum; a line for each that differs.
    virtual std::vector<std::string> checksum_faults(const AskStop& = {}) const { return {}; }
    virtual const std::vector<std::string>& class_names() const = 0;
};

struct OpenedStore {
    std::unique_ptr<PictureStore> store;
    std::string origin;
    std::vector<std::string> notices;  // a line each: what was ignored or is odd
};

// ImageFolder: PATH/train/<class>/... and PATH/val/<class>/... (or test). Classes are the folders' names,
// sorted by their bytes; those of the training set hold for evaluation, too. Hidden files and folders are
// ignored and reported. Pictures are in the order of their file names, then of their classes.
OpenedStore open_image_folder(const SourceOptions& options);
// PATH/train-*.tar and PATH/val-*.tar (or test), or the same in folders train and val, as WebDataset has
// them: members KEY.jpg (jpeg, png, webp) and KEY.cls (the class's number) one after the other.
OpenedStore open_shards(const SourceOptions& options);

// Why there is no such data set, or nothing.
std::string missing_image_folder(const SourceOptions& options);
std::string missing_shards(const SourceOptions& options);

constexpr std::uint64_t kMaxPictureBytes = std::uint64_t{1} << 28;  // of a compressed picture
// A picture file, or a shard; many threads may read it. Errors say what is wrong, without the path.
class OpenFile {
  public:
    // Regular files only: a FIFO would keep the opener waiting for a writer.
    explicit OpenFile(const std::string& path);
    ~OpenFile();
    OpenFile(OpenFile&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
    OpenFile& operator=(OpenFile&&) = delete;

    // In `buffer`, which grows as needed.
    std::span<const std::uint8_t> read(std::uint64_t offset, std::uint64_t size, ByteBuffer& buffer) const;
    std::span<const std::uint8_t> read_whole(ByteBuffer& buffer) const;
    std::uint64_t size() const { return size_; }
    // Fills `out`; false where the file ends before.
    bool read_at(std::uint64_t offset, std::span<std::uint8_t> out) const;

  private:
    int descriptor_;
    std::uint64_t size_ = 0;
};
// Of any size; errors name the path.
std::string text_of_file(const std::string& path);

// Throws "WHAT: the system's reason": Error(kResource) where memory or handles ran out, which is no fault of
// the file, else Error(kData).
[[noreturn]] void fail_system(const std::string& what, int reason);

// Refuses class counts that differ from the config's; 0: any.
void check_class_count(const std::string& origin, const std::vector<std::string>& names,
                       const SourceOptions& options);
// Of a training set that a run from a checkpoint goes on with: Error(kCheckpoint) names the classes that are
// gone from `place` and those that came.
void check_trained_classes(const std::string& place, const std::vector<std::string>& now,
                           const SourceOptions& options);
// A class (its folder or name, as messages call it) that is not among those that labels count in.
[[noreturn]] void refuse_unknown_class(const std::string& place, const std::vector<std::string>& known,
                                       const SourceOptions& options);
// "a, b, c"; of many the first 20.
std::string print_classes(const std::vector<std::string>& names);

}  // namespace mpt
