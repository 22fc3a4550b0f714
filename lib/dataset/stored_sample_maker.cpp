// Samples of a source that holds its images decoded, all of one geometry.
#include "dataset/batch_stream.h"
#include "dataset/image_source.h"
#include "dataset/pictures/resize.h"
#include "dataset/sample_augmenter.h"

namespace mpt {
namespace {

class StoredSampleMaker final : public SampleMaker {
  public:
    StoredSampleMaker(const ImageSource& source, const AugmentOptions& augment, std::uint64_t seed)
        : source_(source), augmenter_(augment, seed, source.geometry()) {
        if (augment.random_resized_crop)
            stored_ = ByteBuffer(static_cast<std::size_t>(source.geometry().bytes()));
    }

    void make(std::int64_t sample, std::int64_t epoch, std::uint8_t* out) override {
        const ImageGeometry& g = source_.geometry();
        std::uint8_t* input = augmenter_.input(out);
        if (augmenter_.options().random_resized_crop) {
            source_.copy_image(sample, stored_.data());
            const Box box = augmenter_.random_resized_crop(epoch, sample, g.height, g.width);
            const PictureView whole{stored_.data(), g.height, g.width, g.channels, g.width * g.channels};
            resizer_.resize(whole.part(box),
                            {0, 0, static_cast<double>(box.height), static_cast<double>(box.width)}, g.height,
                            g.width, input);
        } else {
            source_.copy_image(sample, input);
        }
        augmenter_.finish(epoch, sample, out);
    }

  private:
    const ImageSource& source_;
    SampleAugmenter augmenter_;
    ByteBuffer stored_;
    Resizer resizer_;
};

}  // namespace

std::unique_ptr<SampleMaker> ImageSource::make_sample_maker(const AugmentOptions& augment,
                                                            std::uint64_t seed) const {
    return std::make_unique<StoredSampleMaker>(*this, augment, seed);
}

}  // namespace mpt
