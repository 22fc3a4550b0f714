#include "generate/translator.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "generate/translator_parts.h"
#include "models/transformer/transformer_decode.h"

namespace mpt {
namespace {

constexpr std::int64_t kEncodedAtOnce = 32;
constexpr std::int64_t kExtentMultiple = 32;  // so that one decoder serves texts of about equal lengths

std::vector<GraphBuild> both_halves(const TransformerConfig& model) {
    return {[&](GraphBuilder& builder) {
                transformer_encode_graph(builder, {1, 1}, model);
            },
            [&](GraphBuilder& builder) {
                transformer_decode_graph(builder, {1, 1, 1, 1, 1}, model);
            }};
}

std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

}  // namespace

Translator::Translator(const TranslatorOptions& options)
    : options_(options),
      weights_(both_halves(options.model), options.run),
      encoder_(std::make_unique<Encoder>(options_, weights_)) {
    MPT_CHECK(options.beam >= 1 && options.context >= 2 && options.batch >= 1, "a translator's sizes");
}

Translator::~Translator() = default;

// Tokens, the end included; with the begin before it a target is as long as the context at most.
std::int64_t Translator::limit_for(std::int64_t source_length) const {
    return std::min(source_length + kTargetSurplus, options_.context);
}

// As many as the memory allows, a power of two.
void Translator::choose_places(DecoderExtent& extent, std::int64_t num_sentences) const {
    extent.places = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::min(num_sentences, options_.batch))));
    while (extent.places > 1 &&
           extent.places * Decoder::bytes_a_place(options_, extent) > options_.memory_bytes)
        extent.places /= 2;
}

DecoderExtent Translator::extent_for(std::int64_t num_sentences, std::int64_t longest) const {
    DecoderExtent extent;
    extent.source = std::min(round_up(longest + 1, kExtentMultiple), options_.context);
    extent.capacity = std::min(round_up(limit_for(longest), kExtentMultiple), options_.context);
    choose_places(extent, num_sentences);
    return extent;
}

std::int64_t Translator::working_bytes(std::span<const TokenIds> sources) const {
    std::int64_t longest = 0;
    for (const TokenIds& source : sources)
        longest = std::max(longest, static_cast<std::int64_t>(source.size()));
    if (longest == 0) return 0;
    longest = std::min(longest, options_.context - 1);
    const DecoderExtent extent = extent_for(static_cast<std::int64_t>(sources.size()), longest);
    return extent.places * Decoder::bytes_a_place(options_, extent);
}

Translator::Decoder& Translator::decoder_for(std::int64_t num_sentences, std::int64_t longest) {
    DecoderExtent wanted = extent_for(num_sentences, longest);
    if (decoder_ && decoder_->covers(wanted)) return *decoder_;
    if (decoder_ && decoder_->extent().places == wanted.places) {
        wanted.source = std::max(wanted.source, decoder_->extent().source);
        wanted.capacity = std::max(wanted.capacity, decoder_->extent().capacity);
        choose_places(wanted, num_sentences);
    }
    decoder_ = nullptr;  // its memory first
    decoder_ = std::make_unique<Decoder>(options_, weights_, wanted);
    return *decoder_;
}

// Sentences on their way: waiting, encoded, in a place of the decoder, done.
class Translator::Job {
  public:
    Job(Translator& translator, std::span<const TokenIds> sources)
        : encoder_(*translator.encoder_), translator_(translator), results_(sources.size()) {
        const auto longest = static_cast<std::size_t>(translator.options_.context - 1);
        for (const TokenIds& source : sources) {
            if (!source.empty()) waiting_.push_back(sources_.size());
            sources_.push_back(std::span(source).first(std::min(source.size(), longest)));
        }
        std::ranges::stable_sort(waiting_, std::greater<>{}, [&](std::size_t i) { return length_of(i); });
    }

    // Empty when stopped.
    std::optional<std::vector<Hypothesis>> run(const Progress& progress) {
        const auto count = static_cast<std::int64_t>(waiting_.size());
        if (count == 0) return results_;
        Decoder& decoder = translator_.decoder_for(count, length_of(waiting_.front()));
        sentence_of_.resize(static_cast<std::size_t>(decoder.extent().places));
        for (std::int64_t done = 0; done < count;) {
            fill_places(decoder);
            decoder.step();
            done += take_finished(decoder);
            if (progress && !progress(done)) {
                decoder.release_all();
                return std::nullopt;
            }
        }
        return std::move(results_);
    }

  private:
    std::int64_t length_of(std::size_t sentence) const {
        return static_cast<std::int64_t>(sources_[sentence].size());
    }

    void encode_group(std::int64_t rows) {
        group_begin_ = next_;
        group_end_ = std::min(next_ + static_cast<std::size_t>(rows), waiting_.size());
        std::vector<std::span<const TokenId>> group;
        for (std::size_t i = group_begin_; i < group_end_; ++i) group.push_back(sources_[waiting_[i]]);
        encoder_.encode(group, rows);
    }

    void fill_places(Decoder& decoder) {
        for (std::int64_t place = 0; place < decoder.extent().places; ++place) {
            if (!decoder.is_free(place) || next_ == waiting_.size()) continue;
            if (next_ == group_end_) encode_group(std::min(kEncodedAtOnce, decoder.extent().places));
            const std::size_t sentence = waiting_[next_];
            sentence_of_[static_cast<std::size_t>(place)] = sentence;
            decoder.admit(place, encoder_, next_ - group_begin_, translator_.limit_for(length_of(sentence)));
            ++next_;
        }
    }

    std::int64_t take_finished(Decoder& decoder) {
        std::int64_t done = 0;
        for (std::int64_t place = 0; place < decoder.extent().places; ++place) {
            if (decoder.is_free(place) || !decoder.finished(place)) continue;
            results_[sentence_of_[static_cast<std::size_t>(place)]] = decoder.release(place);
            ++done;
        }
        return done;
    }

    Encoder& encoder_;
    Translator& translator_;
    std::vector<std::span<const TokenId>> sources_;
    std::vector<Hypothesis> results_;
    std::vector<std::size_t> waiting_;             // sentences, the longest first
    std::size_t next_ = 0;                         // of waiting_, the first that has no place yet
    std::size_t group_begin_ = 0, group_end_ = 0;  // of waiting_, the encoder's last group
    std::vector<std::size_t> sentence_of_;         // a place
};

std::optional<std::vector<Hypothesis>> Translator::translate(std::span<const TokenIds> sources,
                                                             const Progress& progress) {
    return Job(*this, sources).run(progress);
}

}  // namespace mpt
