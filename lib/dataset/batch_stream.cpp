#include "dataset/batch_stream.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "dataset/mixing.h"

namespace mpt {
namespace {

// Walks the micro-batches of epoch after epoch.
class Cursor {
  public:
    Cursor(std::int64_t num_samples, const StreamOptions& options)
        : num_samples_(num_samples), options_(options), epoch_(options.start.epoch) {
        first_offset_ = options.start.offset;
    }

    // Fills in what `batch` is made of, except images and labels. Returns false at the end of the stream.
    bool describe_next(Batch& batch) {
        while (micro_ == window_.micro_batches.size()) {
            if (!next_window()) return false;
        }
        batch.count = window_.micro_batches[micro_];
        batch.epoch = epoch_;
        batch.first = position_;
        batch.window_offset = window_.offset;
        batch.window_samples = window_.samples;
        const bool first = position_ == window_.offset;
        batch.before =
            order_[static_cast<std::size_t>((first ? position_ + window_.samples : position_) - 1)];
        batch.micro_index = static_cast<std::int64_t>(micro_++);
        batch.num_micro = static_cast<std::int64_t>(window_.micro_batches.size());
        const auto begin = order_.begin() + position_;
        batch.sample_ids.assign(begin, begin + batch.count);
        position_ += batch.count;
        return true;
    }

  private:
    bool next_window() {
        if (index_ == num_windows(num_samples_, options_.batching, first_offset_)) {
            ++epoch_;
            index_ = first_offset_ = 0;
            order_ = {};  // before the next one is made
        }
        if (options_.end_epoch >= 0 && epoch_ >= options_.end_epoch) return false;
        if (order_.empty()) order_ = epoch_order(num_samples_, options_.seed, epoch_, options_.order);
        // The position may be past the last window of its epoch: then the loop above comes here again.
        if (index_ < num_windows(num_samples_, options_.batching, first_offset_)) {
            window_ = epoch_window(num_samples_, options_.batching, first_offset_, index_++);
            position_ = window_.offset;
            micro_ = 0;
        }
        return true;
    }

    std::int64_t num_samples_;
    StreamOptions options_;
    std::int64_t epoch_;
    std::int64_t first_offset_;  // of the windows of this epoch
    std::int64_t index_ = 0;     // of the next window
    Window window_;
    std::size_t micro_ = 0;
    std::int64_t position_ = 0;
    std::vector<std::uint32_t> order_;
};

// Four independent lanes, each step a bijection of the lane: any single changed word changes the result.
std::uint64_t hash_bytes(std::uint64_t start, const void* data, std::size_t bytes) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ull;
    std::uint64_t lanes[4] = {start, start + 1, start + 2, start + 3};
    const auto* at = static_cast<const std::uint8_t*>(data);
    const auto mix = [](std::uint64_t lane, std::uint64_t word) { return std::rotl(lane ^ word, 27) * kOdd; };
    std::size_t left = bytes;
    for (; left >= 32; left -= 32, at += 32) {
        std::uint64_t words[4];
        std::memcpy(words, at, 32);
        for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
    }
    std::uint64_t words[4] = {0, 0, 0, 0};
    if (left != 0) std::memcpy(words, at, left);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
    std::uint64_t result = mix(kOdd, bytes);
    for (const std::uint64_t lane : lanes) result = mix(result, lane ^ (lane >> 29));
    return result ^ (result >> 32);
}

std::uint64_t hash_of(const Batch& batch, std::size_t image_bytes) {
    std::uint64_t hash = hash_bytes(0, batch.images.data(), image_bytes);
    hash = hash_bytes(hash, batch.labels.data(), batch.labels.size() * sizeof(batch.labels[0]));
    if (!batch.label_shares.empty()) {
        const std::size_t count = batch.label_shares.size();
        hash = hash_bytes(hash, batch.second_labels.data(), count * sizeof(batch.second_labels[0]));
        hash = hash_bytes(hash, batch.label_shares.data(), count * sizeof(batch.label_shares[0]));
    }
    return hash_bytes(hash, batch.sample_ids.data(), batch.sample_ids.size() * sizeof(batch.sample_ids[0]));
}

// Signals belong to the main thread: threads started while this lives do not receive them.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

void check_options(const ImageSource& source, const StreamOptions& options) {
    MPT_CHECK(options.workers >= 0 && options.prefetch >= 1 && options.augment.crop_padding >= 0);
    MPT_CHECK(options.start.epoch >= 0 && options.start.offset >= 0);
    const std::string samples = std::to_string(source.num_samples());
    if (num_windows(source.num_samples(), options.batching) == 0) {
        throw Error(ExitCode::kData,
                    source.info().origin + ": has " + samples + " samples, fewer than batch_size " +
                        std::to_string(options.batching.batch_size) +
                        ", and drop_last leaves out the short batch: set data.drop_last: false or "
                        "a smaller train.batch_size");
    }
    if (options.start.offset > source.num_samples()) {
        throw Error(ExitCode::kCheckpoint,
                    "the data position to resume at (sample " + std::to_string(options.start.offset) +
                        " of epoch " + std::to_string(options.start.epoch) + ") lies outside " +
                        source.info().origin + " with its " + samples + " samples: is this other data?");
    }
}

int num_slots(const StreamOptions& options) {
    // One is in the hands of the caller.
    return options.workers == 0 ? 1 : options.prefetch + 1;
}

// To be mixed, a batch needs the image before its first one, too: it is made behind the others.
std::int64_t images_besides(const StreamOptions& options) {
    return mixes(options.augment) ? 1 : 0;
}

std::size_t images_bytes(const ImageSource& source, const StreamOptions& options) {
    const std::int64_t images =
        std::min(options.batching.micro_batch(), source.num_samples()) + images_besides(options);
    return static_cast<std::size_t>(images * source.geometry().bytes());
}

}  // namespace

struct BatchStream::State {
    struct Slot {
        Batch batch;
        std::int64_t given = 0, made = 0;  // samples given to workers, and finished
        std::exception_ptr error;          // of the first sample that has one
        std::int64_t error_at = 0;
        bool ready = false;
    };
    // Samples begin..end of a slot's batch: what a worker makes at once.
    struct Share {
        Slot* slot = nullptr;
        std::int64_t begin = 0, end = 0;
    };

    State(const ImageSource& images, const StreamOptions& stream_options)
        : source(images), options(stream_options), cursor(images.num_samples(), stream_options) {
        slots.resize(static_cast<std::size_t>(num_slots(options)));
        for (Slot& slot : slots) slot.batch.images = ByteBuffer(images_bytes(source, options));
        for (int i = 0; i < std::max(options.workers, 1); ++i)
            makers.push_back(source.make_sample_maker(options.augment, options.seed));
    }
    ~State() {
        {
            const std::lock_guard lock(mutex);
            stopping = true;
        }
        room.notify_all();
        for (std::thread& worker : workers) worker.join();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    Slot& slot_of(std::int64_t sequence) { return slots[static_cast<std::size_t>(sequence) % slots.size()]; }

    void start_workers();
    void work(SampleMaker& maker);
    Share next_share();
    bool begin_batch();
    void make(const Share& share, SampleMaker& maker);
    void finish(Batch& batch) const;
    void mix_images(Batch& batch) const;
    std::int64_t images_of(const Batch& batch) const { return batch.count + images_besides(options); }
    const Batch* take_prefetched();
    const Batch* build_now();

    const ImageSource& source;
    const StreamOptions options;
    std::vector<std::unique_ptr<SampleMaker>> makers;  // one a worker
    std::vector<std::thread> workers;
    std::atomic<bool> stopping = false;

    // All below is guarded by the mutex; the batch of a slot belongs to the workers, or to the caller when
    // ready.
    std::mutex mutex;
    std::condition_variable room;     // workers wait for samples to make
    std::condition_variable arrival;  // the caller waits for the next batch
    Cursor cursor;
    std::vector<Slot> slots;
    std::int64_t num_issued = 0;    // batches begun by workers
    std::int64_t num_taken = 0;     // batches given to the caller
    std::int64_t num_released = 0;  // batches the caller is done with
    bool exhausted = false;
};

void BatchStream::State::start_workers() {
    const SignalsBlocked blocked;
    try {
        for (int i = 0; i < options.workers; ++i)
            workers.emplace_back([this, i] { work(*makers[static_cast<std::size_t>(i)]); });
    } catch (const std::system_error& error) {
        throw Error(ExitCode::kResource, "cannot start " + std::to_string(options.workers) +
                                             " data workers: " + error.what() + "; lower data.workers");
    }
}

void BatchStream::State::make(const Share& share, SampleMaker& maker) {
    Batch& batch = share.slot->batch;
    const std::int64_t image_bytes = source.geometry().bytes();
    for (std::int64_t i = share.begin; i < share.end; ++i) {
        if (stopping.load(std::memory_order_relaxed)) return;
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t sample = i == batch.count ? batch.before : batch.sample_ids[at];
        if (i < batch.count) batch.labels[at] = source.label(sample);
        maker.make(sample, batch.epoch, batch.images.data() + i * image_bytes);
    }
}

// From the last to the first, so that the image before is still its own.
void BatchStream::State::mix_images(Batch& batch) const {
    const ImageGeometry& g = source.geometry();
    const Mixing mixing = draw_mixing(options.augment, options.seed, batch.epoch, batch.window_offset, g);
    const auto count = static_cast<std::size_t>(batch.count);
    batch.second_labels.resize(count);
    batch.label_shares.assign(count, static_cast<float>(std::max(mixing.share, 1 - mixing.share)));
    for (std::int64_t i = batch.count - 1; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        mix(mixing, g, batch.images.data() + (i == 0 ? batch.count : i - 1) * g.bytes(),
            batch.images.data() + i * g.bytes());
        batch.second_labels[at] = i == 0 ? source.label(batch.before) : batch.labels[at - 1];
        if (mixing.share < 0.5) std::swap(batch.labels[at], batch.second_labels[at]);
    }
}

void BatchStream::State::finish(Batch& batch) const {
    if (mixes(options.augment)) mix_images(batch);
    batch.hash =
        hash_of(batch, batch.sample_ids.size() * static_cast<std::size_t>(source.geometry().bytes()));
}

// Describes the next batch in its slot. False when there is none.
bool BatchStream::State::begin_batch() {
    Slot& slot = slot_of(num_issued);
    slot.given = slot.made = 0;
    slot.error = nullptr;
    try {
        if (!cursor.describe_next(slot.batch)) return false;
        slot.batch.labels.resize(slot.batch.sample_ids.size());
    } catch (...) {
        slot.batch.count = 0;
        slot.error = std::current_exception();
        slot.ready = true;
        ++num_issued;
        arrival.notify_one();
        return false;
    }
    ++num_issued;
    return true;
}

// What is left of the batch begun last, or the start of a new one. Nothing when there is no room, and at the
// end of the stream.
BatchStream::State::Share BatchStream::State::next_share() {
    if (num_issued == 0 || slot_of(num_issued - 1).given == images_of(slot_of(num_issued - 1).batch)) {
        if (exhausted || num_issued - num_released == static_cast<std::int64_t>(slots.size())) return {};
        if (!begin_batch()) {
            exhausted = true;
            room.notify_all();
            arrival.notify_one();
            return {};
        }
        if (source.samples_at_once() > 0) room.notify_all();
    }
    Slot& slot = slot_of(num_issued - 1);
    const std::int64_t images = images_of(slot.batch);
    const std::int64_t at_once = source.samples_at_once() > 0 ? source.samples_at_once() : images;
    const std::int64_t begin = slot.given;
    slot.given = std::min(begin + at_once, images);
    return {&slot, begin, slot.given};
}

void BatchStream::State::work(SampleMaker& maker) {
    std::unique_lock lock(mutex);
    while (!stopping) {
        const Share share = next_share();
        if (share.slot == nullptr) {
            if (exhausted) return;
            room.wait(lock);
            continue;
        }
        Slot& slot = *share.slot;
        lock.unlock();
        std::exception_ptr error;
        try {
            make(share, maker);
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        if (error && (!slot.error || share.begin < slot.error_at)) {
            slot.error = error;
            slot.error_at = share.begin;
        }
        slot.made += share.end - share.begin;
        if (slot.made < images_of(slot.batch)) continue;
        lock.unlock();
        if (!slot.error) finish(slot.batch);
        lock.lock();
        slot.ready = true;
        if (&slot == &slot_of(num_taken)) arrival.notify_one();
    }
}

const Batch* BatchStream::State::take_prefetched() {
    std::unique_lock lock(mutex);
    if (num_released < num_taken) {
        slot_of(num_released++).ready = false;
        room.notify_one();
    }
    Slot& slot = slot_of(num_taken);
    arrival.wait(lock, [&] { return slot.ready || (exhausted && num_taken == num_issued); });
    if (!slot.ready) return nullptr;
    // The slot stays where it is, so that every later call fails in the same way.
    if (slot.error) std::rethrow_exception(slot.error);
    ++num_taken;
    return &slot.batch;
}

const Batch* BatchStream::State::build_now() {
    Slot& slot = slots[0];
    if (slot.error) std::rethrow_exception(slot.error);
    try {
        if (!cursor.describe_next(slot.batch)) return nullptr;
        slot.batch.labels.resize(slot.batch.sample_ids.size());
        make({&slot, 0, images_of(slot.batch)}, *makers[0]);
        finish(slot.batch);
    } catch (...) {
        slot.error = std::current_exception();
        throw;
    }
    return &slot.batch;
}

BatchStream::BatchStream(const ImageSource& source, const StreamOptions& options) {
    check_options(source, options);
    state_ = std::make_unique<State>(source, options);
    state_->start_workers();
}

BatchStream::~BatchStream() = default;

NextBatch BatchStream::next() {
    const double begin = now_seconds();
    const Batch* batch = state_->options.workers == 0 ? state_->build_now() : state_->take_prefetched();
    return {batch, 1e3 * (now_seconds() - begin)};
}

std::int64_t stream_memory_bytes(const ImageSource& source, const StreamOptions& options) {
    // A label and a sample id; when mixed, a second label and a share.
    const std::int64_t per_sample =
        static_cast<std::int64_t>(sizeof(std::int32_t) + sizeof(std::int64_t)) +
        images_besides(options) * static_cast<std::int64_t>(sizeof(std::int32_t) + sizeof(float));
    const std::int64_t samples = std::min(options.batching.micro_batch(), source.num_samples());
    const std::int64_t slot = static_cast<std::int64_t>(images_bytes(source, options)) + samples * per_sample;
    const std::int64_t scratch = std::max(options.workers, 1) * source.maker_bytes();
    const std::int64_t order = source.num_samples() * static_cast<std::int64_t>(sizeof(std::uint32_t));
    return num_slots(options) * slot + scratch + order;
}

}  // namespace mpt
