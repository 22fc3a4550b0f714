#include "dataset/pictures/picture_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>

#include "core/error.h"
#include "core/printable.h"
#include "dataset/pictures/picture_reader.h"
#include "dataset/pictures/resize.h"
#include "dataset/pictures/shared_work.h"
#include "dataset/sample_augmenter.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

// What of the upright picture becomes the sample, and which pixels that needs.
struct Wanted {
    Area area;
    Box box;
    double spare = 1;  // how much larger than wanted a shrunk picture must still be
};

Wanted whole_box(const Box& box) {
    return {{static_cast<double>(box.top), static_cast<double>(box.left), static_cast<double>(box.height),
             static_cast<double>(box.width)},
            box,
            1};
}

// torchvision's Resize(short side) and CenterCrop in one: which pixels the middle comes from.
Wanted middle(std::int64_t height, std::int64_t width, std::int64_t resize, const ImageGeometry& g) {
    const std::int64_t short_side = std::min(height, width);
    const auto resized = [&](std::int64_t side) {
        return std::max<std::int64_t>(side == short_side ? resize : resize * side / short_side, 1);
    };
    // Along one side: begin and length in pixels of the picture, of `side` pixels.
    const auto cut = [&](std::int64_t side, std::int64_t output, double& begin, double& length) {
        const std::int64_t full = resized(side);
        const double scale = static_cast<double>(side) / static_cast<double>(full);
        begin = std::nearbyint(static_cast<double>(full - output) / 2) * scale;  // half to even, as in Python
        length = static_cast<double>(output) * scale;
        return std::max(scale, 1.0) + 1;  // pixels beyond that the filter reaches
    };
    Wanted wanted;
    const double reach_y = cut(height, g.height, wanted.area.top, wanted.area.height);
    const double reach_x = cut(width, g.width, wanted.area.left, wanted.area.width);
    const auto from = [](double at) { return std::max<std::int64_t>(std::llround(std::floor(at)), 0); };
    const auto to = [](double at, std::int64_t side) {
        return std::min<std::int64_t>(std::llround(std::ceil(at)), side);
    };
    wanted.box.top = from(wanted.area.top - reach_y);
    wanted.box.left = from(wanted.area.left - reach_x);
    wanted.box.height = to(wanted.area.top + wanted.area.height + reach_y, height) - wanted.box.top;
    wanted.box.width = to(wanted.area.left + wanted.area.width + reach_x, width) - wanted.box.left;
    wanted.spare = 2;
    return wanted;
}

// The same area in the stored picture, relative to the stored box.
Area stored_area(const PictureHeader& header, const Wanted& wanted, const Box& box) {
    // In units of 1/1024 pixel, boxes are whole numbers again.
    constexpr double kFine = 1024;
    const auto fine = [](double value) { return std::llround(value * kFine); };
    PictureHeader scaled = header;
    scaled.height *= static_cast<std::int64_t>(kFine);
    scaled.width *= static_cast<std::int64_t>(kFine);
    const Area& a = wanted.area;
    const Box turned = stored_box(scaled, {fine(a.top), fine(a.left), fine(a.height), fine(a.width)});
    const bool upright = header.orientation == 1;  // exact there
    Area area{static_cast<double>(turned.top) / kFine, static_cast<double>(turned.left) / kFine,
              static_cast<double>(turned.height) / kFine, static_cast<double>(turned.width) / kFine};
    if (upright) area = a;
    area.top -= static_cast<double>(box.top);
    area.left -= static_cast<double>(box.left);
    return area;
}

int shrink_for(const Area& area, std::int64_t height, std::int64_t width, double spare) {
    int shrink = 1;
    while (shrink < 8 && area.height >= 2 * shrink * spare * static_cast<double>(height) &&
           area.width >= 2 * shrink * spare * static_cast<double>(width))
        shrink *= 2;
    return shrink;
}

class PictureSampleMaker final : public SampleMaker {
  public:
    PictureSampleMaker(const PictureSource& source, const AugmentOptions& augment, std::uint64_t seed)
        : source_(source), augmenter_(augment, seed, source.geometry()) {}

    void make(std::int64_t sample, std::int64_t epoch, std::uint8_t* out) override {
        const std::int64_t index = source_.stored_index(sample);
        try {
            prepare(index, sample, epoch, augmenter_.input(out));
        } catch (const Error& error) {
            const bool broken = error.code() == ExitCode::kData;
            throw Error(error.code(), printable(source_.store().name(index) + ": " + error.what()) +
                                          (broken ? std::string("; ") + source_.remedy() : ""));
        }
        augmenter_.finish(epoch, sample, out);
    }

  private:
    void prepare(std::int64_t index, std::int64_t sample, std::int64_t epoch, std::uint8_t* out);

    const PictureSource& source_;
    SampleAugmenter augmenter_;
    PictureReader reader_;
    ByteBuffer file_, stored_;
    Picture decoded_;
    Resizer resizer_;
};

void PictureSampleMaker::prepare(std::int64_t index, std::int64_t sample, std::int64_t epoch,
                                 std::uint8_t* out) {
    const ImageGeometry& g = source_.geometry();
    const PictureHeader header = reader_.open(source_.store().read(index, file_));
    const std::int64_t height = header.upright_height(), width = header.upright_width();
    const Wanted wanted = augmenter_.options().random_resized_crop
                              ? whole_box(augmenter_.random_resized_crop(epoch, sample, height, width))
                              : middle(height, width, source_.resize(), g);
    const Box box = stored_box(header, wanted.box);
    Area area = stored_area(header, wanted, box);
    const std::int64_t out_height = header.transposed() ? g.width : g.height;
    const std::int64_t out_width = header.transposed() ? g.height : g.width;
    const int shrink =
        header.format == PictureFormat::kJpeg ? shrink_for(area, out_height, out_width, wanted.spare) : 1;
    const DecodedPart part = reader_.decode(box, shrink, g.channels, decoded_);
    area = {part.area.top + area.top / shrink, part.area.left + area.left / shrink, area.height / shrink,
            area.width / shrink};
    if (header.orientation == 1) {
        resizer_.resize(part.pixels, area, out_height, out_width, out);
        return;
    }
    if (stored_.size() == 0) stored_ = ByteBuffer(static_cast<std::size_t>(g.bytes()));
    resizer_.resize(part.pixels, area, out_height, out_width, stored_.data());
    orient({stored_.data(), out_height, out_width, g.channels, out_width * g.channels}, header.orientation,
           out);
}

}  // namespace

struct PictureSource::Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<SampleMaker>> makers;
};

PictureSource::PictureSource(ImageSetInfo info, std::unique_ptr<PictureStore> store, std::int64_t resize,
                             std::vector<std::uint32_t> samples, BrokenFiles broken)
    : ImageSource(std::move(info)),
      store_(std::move(store)),
      resize_(resize),
      samples_(std::move(samples)),
      broken_(broken),
      idle_(std::make_unique<Idle>()) {
    MPT_CHECK(num_samples() ==
              (samples_.empty() ? store_->size() : static_cast<std::int64_t>(samples_.size())));
    MPT_CHECK(resize_ >= std::max(geometry().height, geometry().width));
}

PictureSource::~PictureSource() = default;

const char* PictureSource::remedy() const {
    return broken_ == BrokenFiles::kSkip
               ? "it was whole when the data was opened: put it back, or start anew without it"
               : "remove it, or set data.broken: skip";
}

std::uint64_t PictureSource::fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
    for (std::int64_t i = 0; i < num_samples(); ++i) {
        for (const char c : store_->key(stored_index(i))) add(static_cast<std::uint8_t>(c));
        for (auto label = static_cast<std::uint32_t>(this->label(i)), byte = 0u; byte < 4; ++byte)
            add(static_cast<std::uint8_t>(label >> 8 * byte));
    }
    return hash != 0 ? hash : 1;
}

std::unique_ptr<SampleMaker> PictureSource::make_sample_maker(const AugmentOptions& augment,
                                                              std::uint64_t seed) const {
    return std::make_unique<PictureSampleMaker>(*this, augment, seed);
}

void PictureSource::copy_image(std::int64_t index, std::uint8_t* out) const {
    std::unique_ptr<SampleMaker> maker;
    {
        const std::lock_guard lock(idle_->mutex);
        if (!idle_->makers.empty()) {
            maker = std::move(idle_->makers.back());
            idle_->makers.pop_back();
        }
    }
    if (!maker) maker = make_sample_maker({}, 0);
    maker->make(index, 0, out);
    const std::lock_guard lock(idle_->mutex);
    idle_->makers.push_back(std::move(maker));
}

std::int64_t PictureSource::maker_bytes() const {
    constexpr std::int64_t kUsualPicture = 4 << 20;  // a file and its pixels, of usual photographs
    return kUsualPicture + 2 * geometry().bytes();
}

std::vector<BrokenPicture> find_broken(const PictureStore& store, int num_threads, const AskStop& stop) {
    std::vector<BrokenPicture> broken;
    std::mutex mutex;
    std::atomic<std::int64_t> next = 0;
    const auto check = [&](std::int64_t i, PictureReader& reader, ByteBuffer& file, Picture& pixels) {
        try {
            const PictureHeader header = reader.open(store.read(i, file));
            // Small pixels are enough: what is damaged is the compressed stream.
            reader.decode({0, 0, header.height, header.width}, 8, 3, pixels);
        } catch (const Error& error) {
            const std::string message = printable(store.name(i) + ": " + error.what());
            if (error.code() != ExitCode::kData) throw Error(error.code(), message);
            const std::lock_guard lock(mutex);
            broken.push_back({i, message});
        }
    };
    share_work(num_threads, [&](int) {
        try {
            PictureReader reader;
            ByteBuffer file;
            Picture pixels;
            for (std::int64_t i = next++; i < store.size(); i = next++) {
                leave_if(stop);
                check(i, reader, file, pixels);
            }
        } catch (...) {
            next = store.size();  // the others end, too
            throw;
        }
    });
    std::sort(broken.begin(), broken.end(),
              [](const BrokenPicture& a, const BrokenPicture& b) { return a.index < b.index; });
    return broken;
}

namespace {

// Skipping must not lose a whole class unsaid.
void check_lost_classes(const PictureStore& store, const std::vector<std::uint32_t>& kept,
                        const SourceOptions& options, const std::string& origin,
                        std::vector<std::string>& notices) {
    const std::vector<std::string>& names = store.class_names();
    std::vector<std::int64_t> all(names.size()), left(names.size());
    for (std::int64_t i = 0; i < store.size(); ++i) ++all[static_cast<std::size_t>(store.label(i))];
    for (const std::uint32_t i : kept) ++left[static_cast<std::size_t>(store.label(i))];
    std::vector<std::string> lost;
    for (std::size_t c = 0; c < names.size(); ++c)
        if (all[c] > 0 && left[c] == 0) lost.push_back(names[c]);
    if (lost.empty()) return;
    const std::string what = origin + ": every picture of these classes is broken: " + print_classes(lost);
    if (options.split == Split::kTrain && options.empty_classes == EmptyClasses::kError)
        throw Error(ExitCode::kData, what +
                                         "; replace them (mpt-train data --check names them), remove the "
                                         "classes, or set data.empty_classes: allow");
    notices.push_back(what);
}

// A checkpoint holds the names as JSON, which is UTF-8.
void check_class_names(const std::vector<std::string>& names, const std::string& origin) {
    for (const std::string& name : names)
        if (find_invalid_utf8(name) != std::string::npos)
            throw Error(ExitCode::kData, origin + ": the name of class " + printable(name) +
                                             " is not UTF-8, a checkpoint could not hold it; rename it");
}

// All pictures but the broken ones; empty when that is all.
std::vector<std::uint32_t> sound_pictures(const PictureStore& store, const SourceOptions& options,
                                          const std::string& origin, std::vector<std::string>& notices) {
    if (options.broken == BrokenFiles::kStop) return {};
    const std::vector<BrokenPicture> broken = find_broken(store, options.num_threads, options.stop);
    if (broken.empty()) return {};
    std::vector<std::uint32_t> kept;
    auto bad = broken.begin();
    for (std::int64_t i = 0; i < store.size(); ++i) {
        if (bad != broken.end() && bad->index == i) {
            notices.push_back(bad->message + "; skipped");
            ++bad;
        } else {
            kept.push_back(static_cast<std::uint32_t>(i));
        }
    }
    const std::string count = std::to_string(broken.size()) + " bad files";
    if (kept.empty())
        throw Error(ExitCode::kData, origin + ": " + count + " and no other, the first " +
                                         broken.front().message +
                                         "; replace them (mpt-train data --check names them all)");
    check_lost_classes(store, kept, options, origin, notices);
    notices.push_back(origin + ": " + count + " skipped, " + std::to_string(kept.size()) +
                      " used per epoch (data.broken: skip)");
    return kept;
}

// Of a limit: every class its share, in the order they had. Spread over the list as it is would not do: where
// classes have equal file names the list goes round them, and a stride meets only some.
std::vector<std::uint32_t> limited(const PictureStore& store, std::vector<std::uint32_t> samples,
                                   std::int64_t limit) {
    const std::int64_t num_all = samples.empty() ? store.size() : static_cast<std::int64_t>(samples.size());
    if (limit <= 0 || limit >= num_all) return samples;
    if (samples.empty()) {
        samples.resize(static_cast<std::size_t>(num_all));
        std::iota(samples.begin(), samples.end(), 0U);
    }
    std::ranges::stable_sort(samples, {}, [&](std::uint32_t at) { return store.label(at); });
    std::vector<std::uint32_t> kept;
    for (std::int64_t i = 0; i < limit; ++i)
        kept.push_back(samples[static_cast<std::size_t>(i * num_all / limit)]);
    std::ranges::sort(kept);
    return kept;
}

}  // namespace

std::unique_ptr<ImageSource> open_pictures(const SourceOptions& options, std::vector<std::string>& notices) {
    OpenedStore opened =
        options.type == SourceType::kShards ? open_shards(options) : open_image_folder(options);
    notices.insert(notices.end(), opened.notices.begin(), opened.notices.end());
    check_class_names(opened.store->class_names(), opened.origin);
    const ImageGeometry& g = options.geometry;
    MPT_CHECK(g.height >= 1 && g.width >= 1);
    if (g.channels != 1 && g.channels != 3)
        throw Error(ExitCode::kUsage,
                    "data.channels: pictures have 1 or 3 channels, not " + std::to_string(g.channels));
    std::vector<std::uint32_t> samples =
        limited(*opened.store, sound_pictures(*opened.store, options, opened.origin, notices), options.limit);
    ImageSetInfo info;
    info.origin = opened.origin;
    info.geometry = g;
    info.num_samples = samples.empty() ? opened.store->size() : static_cast<std::int64_t>(samples.size());
    info.class_names = opened.store->class_names();
    info.num_classes = static_cast<std::int64_t>(info.class_names.size());
    const std::int64_t resize = std::max({options.resize, g.height, g.width});
    return std::make_unique<PictureSource>(std::move(info), std::move(opened.store), resize,
                                           std::move(samples), options.broken);
}

}  // namespace mpt
