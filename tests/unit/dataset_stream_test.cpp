// The stream against a plain loop that makes every batch by hand, for any number of workers and any start.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "core/error.h"
#include "dataset/augment.h"
#include "dataset/dataset.h"
#include "dataset/memory_images.h"

using namespace mpt;

namespace {

using Pixels = std::vector<std::uint8_t>;

struct Copy {
    Pixels images;
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> ids;
    std::int64_t count, epoch, first, window_samples, micro_index, num_micro;
    std::uint64_t hash;
    bool operator==(const Copy&) const = default;
};

Copy copy_of(const Batch& b, const ImageGeometry& geometry) {
    const auto bytes = static_cast<std::size_t>(b.count * geometry.bytes());
    return {Pixels(b.images.data(), b.images.data() + bytes),
            b.labels,
            b.sample_ids,
            b.count,
            b.epoch,
            b.first,
            b.window_samples,
            b.micro_index,
            b.num_micro,
            b.hash};
}

std::vector<Copy> take(const ImageSource& source, const StreamOptions& options, std::size_t limit = 1000000) {
    BatchStream stream(source, options);
    std::vector<Copy> batches;
    while (batches.size() < limit) {
        const NextBatch next = stream.next();
        if (!next.batch) break;
        batches.push_back(copy_of(*next.batch, source.geometry()));
    }
    return batches;
}

std::unique_ptr<ImageSource> small_source(std::int64_t samples) {
    SourceOptions options;
    options.type = SourceType::kSynthetic;
    options.geometry = {6, 9, 3};
    options.num_classes = 7;
    options.synthetic_samples = samples;
    return open_source(options).source;
}

StreamOptions shuffled(std::int64_t batch, std::int64_t accumulate, std::int64_t epochs) {
    StreamOptions options;
    options.seed = 11;
    options.augment = {2, true};
    options.batching = {batch, accumulate, false};
    options.end_epoch = epochs;
    options.workers = 0;
    return options;
}

// What next() must deliver from `start` on, one statement after the other.
std::vector<Copy> reference(const ImageSource& source, const StreamOptions& options) {
    const auto image_bytes = static_cast<std::size_t>(source.geometry().bytes());
    std::vector<Copy> batches;
    for (std::int64_t epoch = options.start.epoch; epoch < options.end_epoch; ++epoch) {
        const auto order = epoch_order(source.num_samples(), options.seed, epoch, options.order);
        const std::int64_t begin = epoch == options.start.epoch ? options.start.offset : 0;
        for (const Window& window : epoch_windows(source.num_samples(), options.batching, begin)) {
            std::int64_t first = window.offset, micro = 0;
            for (const std::int64_t count : window.micro_batches) {
                Copy batch{{},
                           {},
                           {},
                           count,
                           epoch,
                           first,
                           window.samples,
                           micro++,
                           static_cast<std::int64_t>(window.micro_batches.size()),
                           0};
                for (std::int64_t i = first; i < first + count; ++i) {
                    const std::int64_t id = order[static_cast<std::size_t>(i)];
                    Pixels image(image_bytes), out(image_bytes);
                    source.copy_image(id, image.data());
                    apply_augmentation(draw_augmentation(options.augment, options.seed, epoch, id),
                                       options.augment.crop_padding, source.geometry(), image.data(),
                                       out.data());
                    batch.images.insert(batch.images.end(), out.begin(), out.end());
                    batch.labels.push_back(source.label(id));
                    batch.ids.push_back(id);
                }
                first += count;
                batches.push_back(batch);
            }
        }
    }
    return batches;
}

bool equal_but_for_hash(std::vector<Copy> a, std::vector<Copy> b) {
    for (auto& batch : a) batch.hash = 0;
    for (auto& batch : b) batch.hash = 0;
    return a == b;
}

// A source that fails at one sample, or takes its time.
class OddSource final : public ImageSource {
  public:
    OddSource(std::int64_t samples, std::int64_t bad, std::chrono::milliseconds delay)
        : ImageSource({"odd", {1, 1, 1}, samples, 2, {}}), bad_(bad), delay_(delay) {}
    void copy_image(std::int64_t index, std::uint8_t* out) const override {
        if (index == bad_) throw Error(ExitCode::kData, "sample 5 is bad");
        if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
        ++num_copied;
        *out = static_cast<std::uint8_t>(index);
    }
    std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % 2); }
    std::int64_t memory_bytes() const override { return 0; }
    mutable std::atomic<int> num_copied = 0;

  private:
    std::int64_t bad_;
    std::chrono::milliseconds delay_;
};

}  // namespace

TEST_CASE("batches equal the plain loop, for 0, 1 and 3 workers") {
    const auto source = small_source(43);
    for (const bool drop_last : {false, true}) {
        StreamOptions options = shuffled(8, 3, 3);
        options.batching.drop_last = drop_last;
        const auto expected = reference(*source, options);
        const auto in_thread = take(*source, options);
        CHECK(equal_but_for_hash(in_thread, expected));
        for (const int workers : {1, 3}) {
            for (const int prefetch : {1, 2, 7}) {
                options.workers = workers;
                options.prefetch = prefetch;
                CHECK(take(*source, options) == in_thread);
            }
        }
    }
}

TEST_CASE("a resume at any sample continues the order, at a window's start the very batches") {
    const auto source = small_source(29);
    StreamOptions options = shuffled(6, 2, 3);
    const auto straight = take(*source, options);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        for (std::int64_t offset = 0; offset <= 29; ++offset) {
            options.start = {epoch, offset};
            options.workers = static_cast<int>(offset % 3);
            const auto resumed = take(*source, options);
            REQUIRE(equal_but_for_hash(resumed, reference(*source, options)));
            if (offset % 6 != 0 && offset != 29) continue;
            const auto same = std::find_if(straight.begin(), straight.end(), [&](const Copy& batch) {
                return batch.epoch > epoch || (batch.epoch == epoch && batch.first >= offset);
            });
            REQUIRE(resumed == std::vector<Copy>(same, straight.end()));
        }
    }
}

TEST_CASE("drop_last: a resume behind the last full window starts the next epoch") {
    const auto source = small_source(29);
    StreamOptions options = shuffled(6, 1, 3);
    options.batching.drop_last = true;
    options.start = {1, 24};
    const auto resumed = take(*source, options);
    REQUIRE(!resumed.empty());
    CHECK(resumed.front().epoch == 2);
    CHECK(resumed.front().first == 0);
    CHECK(resumed.size() == 4);
}

TEST_CASE("every epoch uses every sample exactly once") {
    const auto source = small_source(50);
    StreamOptions options = shuffled(7, 2, -1);
    options.workers = 2;
    BatchStream stream(*source, options);
    for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
        std::vector<int> used(50);
        for (std::int64_t seen = 0; seen < 50;) {
            const Batch& batch = *stream.next().batch;
            REQUIRE(batch.epoch == epoch);
            REQUIRE(batch.first == seen);
            for (const std::int64_t id : batch.sample_ids) ++used[static_cast<std::size_t>(id)];
            seen += batch.count;
            REQUIRE(batch.after() == StreamPosition{epoch, seen});
        }
        REQUIRE(used == std::vector<int>(50, 1));
    }
}

TEST_CASE("evaluation goes through all samples in order, the short batch included") {
    const auto source = small_source(21);
    for (const int workers : {0, 2}) {
        const auto batches = take(*source, evaluation_stream(8, workers, 2));
        REQUIRE(batches.size() == 3);
        CHECK(batches.back().count == 5);
        std::vector<std::int64_t> ids, expected(21);
        std::iota(expected.begin(), expected.end(), 0);
        Pixels image(static_cast<std::size_t>(source->geometry().bytes()));
        for (const Copy& batch : batches) {
            for (std::size_t i = 0; i < batch.ids.size(); ++i) {
                ids.push_back(batch.ids[i]);
                source->copy_image(batch.ids[i], image.data());
                CHECK(std::memcmp(image.data(), batch.images.data() + i * image.size(), image.size()) == 0);
                CHECK(batch.labels[i] == source->label(batch.ids[i]));
            }
        }
        CHECK(ids == expected);
    }
}

TEST_CASE("the end stays the end") {
    const auto source = small_source(5);
    for (const int workers : {0, 1, 3}) {
        BatchStream stream(*source, evaluation_stream(4, workers, 2));
        CHECK(stream.next().batch->count == 4);
        CHECK(stream.next().batch->count == 1);
        for (int i = 0; i < 3; ++i) CHECK(stream.next().batch == nullptr);
    }
}

TEST_CASE("image buffers are 64-byte aligned and the memory is as announced") {
    const auto source = small_source(40);
    StreamOptions options = shuffled(16, 2, 2);
    options.workers = 2;
    options.prefetch = 3;
    BatchStream stream(*source, options);
    for (int i = 0; i < 8; ++i) {
        const Batch& batch = *stream.next().batch;
        CHECK(reinterpret_cast<std::uintptr_t>(batch.images.data()) % 64 == 0);
        CHECK(batch.images.size() == 8 * 162);
    }
    // 3 ahead and 1 in use: 8 images of 162 bytes, 8 labels of 4, 8 ids of 8; 2 scratch images; 40 order
    // entries.
    CHECK(stream_memory_bytes(*source, options) == 4 * 8 * (162 + 12) + 2 * 162 + 40 * 4);
}

TEST_CASE("the hash sees a pixel, a label and a sample id") {
    const auto hash = [](std::uint8_t pixel, std::int32_t label, std::int64_t samples) {
        ByteBuffer images(static_cast<std::size_t>(3));
        std::memset(images.data(), 9, 3);
        images.data()[1] = pixel;
        const MemoryImages source({"memory", {1, 3, 1}, samples, 10, {}}, std::move(images), {label});
        BatchStream stream(source, evaluation_stream(1, 0, 1));
        std::uint64_t last = 0;
        for (NextBatch next = stream.next(); next.batch; next = stream.next()) last = next.batch->hash;
        return last;
    };
    CHECK(hash(1, 2, 1) == hash(1, 2, 1));
    CHECK(hash(1, 2, 1) != hash(2, 2, 1));
    CHECK(hash(1, 2, 1) != hash(1, 3, 1));
    CHECK(hash(1, 2, 1) != hash(1, 2, 2));  // the same image again, as sample 1
}

TEST_CASE("an error in a worker comes out of next(), after the good batches, again and again") {
    const OddSource source(20, 5, std::chrono::milliseconds(0));
    for (const int workers : {0, 1, 3}) {
        StreamOptions options = evaluation_stream(2, workers, 3);
        BatchStream stream(source, options);
        CHECK(stream.next().batch->first == 0);
        CHECK(stream.next().batch->first == 2);
        for (int i = 0; i < 3; ++i) CHECK_THROWS_WITH(stream.next(), "sample 5 is bad");
    }
}

TEST_CASE("workers stop quickly and never run ahead of the queue") {
    using namespace std::chrono;
    {
        const OddSource slow(1000, -1, milliseconds(5));  // one batch would take 5 s
        const auto begin = steady_clock::now();
        {
            BatchStream stream(slow, evaluation_stream(1000, 2, 4));
            std::this_thread::sleep_for(milliseconds(20));
        }
        CHECK(steady_clock::now() - begin < seconds(2));
    }
    const OddSource source(10000, -1, milliseconds(0));
    BatchStream stream(source, evaluation_stream(10, 3, 4));
    for (int i = 0; i < 200 && source.num_copied < 50; ++i) std::this_thread::sleep_for(milliseconds(10));
    std::this_thread::sleep_for(milliseconds(50));
    CHECK(source.num_copied == 50);  // prefetch 4 and the one for the caller
    stream.next();
    stream.next();
    for (int i = 0; i < 200 && source.num_copied < 60; ++i) std::this_thread::sleep_for(milliseconds(10));
    std::this_thread::sleep_for(milliseconds(50));
    CHECK(source.num_copied == 60);
}

TEST_CASE("the wait of next() is the time the caller stood still") {
    const OddSource slow(10, -1, std::chrono::milliseconds(30));
    BatchStream in_thread(slow, evaluation_stream(5, 0, 1));
    CHECK(in_thread.next().wait_ms >= 150);
    BatchStream ahead(slow, evaluation_stream(5, 1, 2));
    // Made 450 ms before it is asked for; making it takes 150 ms.
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    CHECK(ahead.next().wait_ms < 100);
}
