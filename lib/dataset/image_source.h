// Images with labels, by index: what a data set is to the rest of the program. A new kind of data set is one
// file that fills in ImageSource and one line in open_source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataset/sample_maker.h"
#include "dataset/stop.h"

namespace mpt {

struct AugmentOptions;

struct ImageGeometry {
    std::int64_t height = 0, width = 0, channels = 0;
    std::int64_t bytes() const { return height * width * channels; }  // of one u8 image
    bool operator==(const ImageGeometry&) const = default;
};

// "28x28x1": height, width, channels.
std::string to_string(const ImageGeometry& geometry);

// Everything about a data set except its pixels.
struct ImageSetInfo {
    std::string origin;  // the absolute path, or "synthetic"
    ImageGeometry geometry;
    std::int64_t num_samples = 0;
    std::int64_t num_classes = 0;
    std::vector<std::string> class_names;  // empty, or num_classes of them
};

class ImageSource {
  public:
    explicit ImageSource(ImageSetInfo info) : info_(std::move(info)) {}
    virtual ~ImageSource() = default;
    ImageSource(const ImageSource&) = delete;
    ImageSource& operator=(const ImageSource&) = delete;

    const ImageSetInfo& info() const { return info_; }
    std::int64_t num_samples() const { return info_.num_samples; }
    std::int64_t num_classes() const { return info_.num_classes; }
    const ImageGeometry& geometry() const { return info_.geometry; }

    // Writes sample `index` as u8 [height, width, channels] (geometry().bytes() bytes). Safe from many
    // threads.
    virtual void copy_image(std::int64_t index, std::uint8_t* out) const = 0;
    virtual std::int32_t label(std::int64_t index) const = 0;
    // Of the samples' names and labels, in order: changes when files are renamed, moved or left out. 0: none.
    virtual std::uint64_t fingerprint() const { return 0; }
    // What makes this source's samples for one worker of a stream. The source must outlive it.
    virtual std::unique_ptr<SampleMaker> make_sample_maker(const AugmentOptions& augment,
                                                           std::uint64_t seed) const;
    // How many samples a worker takes at once: few where a sample is much work; 0: a batch.
    virtual std::int64_t samples_at_once() const { return 0; }
    // What one sample maker keeps resident, about.
    virtual std::int64_t maker_bytes() const { return geometry().bytes(); }
    // Bytes this source keeps resident for as long as it lives.
    virtual std::int64_t memory_bytes() const = 0;

  private:
    ImageSetInfo info_;
};

// Per channel, of pixels scaled to [0, 1]; `stddev` is the population's.
struct ChannelStatistics {
    std::vector<float> mean, stddev;
};

// Exact for up to 256 MiB of pixels; above that from evenly spaced samples of that size.
ChannelStatistics channel_statistics(const ImageSource& source, const AskStop& stop = {});

enum class SourceType { kIdx, kCifar10, kImageFolder, kShards, kSynthetic };
enum class Split { kTrain, kTest };
enum class MissingData {
    kError,
    kSynthetic,
    kRefused  // an error although training would take synthetic images: for looking at the files alone
};
enum class BrokenFiles { kStop, kSkip };
enum class EmptyClasses { kError, kAllow };

struct SourceOptions {
    SourceType type = SourceType::kIdx;
    std::string path;  // a folder; relative to the working directory unless absolute
    Split split = Split::kTrain;
    std::int64_t num_classes = 10;
    // Synthetic images have this geometry. For files, sides or channels other than 0 are compared with it.
    ImageGeometry geometry;
    std::int64_t synthetic_samples = 10000;
    std::uint64_t seed = 0;
    MissingData if_missing = MissingData::kError;
    std::int64_t limit = 0;  // keep only the first samples; 0: all. The files are checked as a whole.
    // Of pictures only, whose geometry must be given; a limit is spread evenly over them.
    std::int64_t resize = 0;  // the short side before the middle is cut out; 0: the geometry's
    BrokenFiles broken =
        BrokenFiles::kStop;  // skip: all are decoded at the start, to know how many there are
    EmptyClasses empty_classes = EmptyClasses::kError;
    std::vector<std::string> class_names;  // that labels count in; empty: those of the training set
    std::string class_names_from;          // the checkpoint that brought them, for messages
    int num_threads = 1;                   // for decoding all
    AskStop stop;                          // asked while all are decoded, or archives are read through
};

struct OpenedSource {
    std::unique_ptr<ImageSource> source;
    std::string warning;               // one line when the source is not what was asked for, else empty
    std::vector<std::string> notices;  // lines of what was ignored or skipped
};

// Opens and checks a whole data set up front. Throws Error(kData) that names the path and the remedy.
// Only files that are not there fall back to synthetic images, never damaged ones.
OpenedSource open_source(const SourceOptions& options);

}  // namespace mpt
