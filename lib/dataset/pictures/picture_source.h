// Pictures of any size as a data set of one geometry, decoded, resized and augmented by the stream's workers.
// Evaluation, and training without random_resized_crop: the short side is resized to `resize`, then the
// middle is cut out. What is decoded is no more than what the crop needs; JPEGs that are much larger than
// wanted are decoded at 1/2, 1/4 or 1/8 (training: what is left is still at least as large as wanted;
// evaluation: twice).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataset/pictures/picture_store.h"

namespace mpt {

// A picture that cannot be used, and why.
struct BrokenPicture {
    std::int64_t index = 0;
    std::string message;  // with the path
};

class PictureSource final : public ImageSource {
  public:
    // `samples`: which pictures of the store, in order; empty: all. `broken`: skip where they were all
    // decoded before, for what is said of one that fails.
    PictureSource(ImageSetInfo info, std::unique_ptr<PictureStore> store, std::int64_t resize,
                  std::vector<std::uint32_t> samples, BrokenFiles broken);
    ~PictureSource() override;

    const PictureStore& store() const { return *store_; }
    const char* remedy() const;  // for a picture that cannot be used
    std::int64_t resize() const { return resize_; }
    std::int64_t stored_index(std::int64_t index) const {
        return samples_.empty() ? index : samples_[static_cast<std::size_t>(index)];
    }

    void copy_image(std::int64_t index, std::uint8_t* out) const override;
    std::int32_t label(std::int64_t index) const override { return store_->label(stored_index(index)); }
    std::uint64_t fingerprint() const override;
    std::unique_ptr<SampleMaker> make_sample_maker(const AugmentOptions& augment,
                                                   std::uint64_t seed) const override;
    std::int64_t samples_at_once() const override { return 4; }
    std::int64_t maker_bytes() const override;
    std::int64_t memory_bytes() const override {
        return store_->memory_bytes() + static_cast<std::int64_t>(samples_.size() * sizeof(std::uint32_t));
    }

  private:
    struct Idle;  // makers of copy_image, used again
    std::unique_ptr<PictureStore> store_;
    std::int64_t resize_;
    std::vector<std::uint32_t> samples_;
    BrokenFiles broken_;
    std::unique_ptr<Idle> idle_;
};

// Opens a folder or shards with its policies; notices are lines for the log.
std::unique_ptr<ImageSource> open_pictures(const SourceOptions& options, std::vector<std::string>& notices);

// Decodes every picture of a store on some threads; those that cannot be, in the order of the store.
// Running out of memory or handles is no fault of a picture: that, and Stopped, are thrown.
std::vector<BrokenPicture> find_broken(const PictureStore& store, int num_threads, const AskStop& stop = {});

}  // namespace mpt
