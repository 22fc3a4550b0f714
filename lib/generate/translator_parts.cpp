#include "generate/translator_parts.h"

#include <algorithm>
#include <string>

#include "backends/cpu/threads.h"
#include "core/error.h"
#include "models/transformer/transformer_decode.h"
#include "ops/top_log_probabilities/top_log_probabilities.h"

namespace mpt {
namespace {

constexpr std::int64_t kLengthMultiple = 8;

std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

std::string numbered(const char* name, std::int64_t layer) {
    return name + std::to_string(layer);
}

GraphBuild decoder_graph(const TranslatorOptions& options, const DecoderExtent& extent) {
    return [options, extent](GraphBuilder& builder) {
        const TransformerConfig& model = options.model;
        transformer_decode_graph(builder, {extent.places, options.beam, 1, extent.capacity, extent.source},
                                 model);
        const std::int64_t count =
            std::min(BeamSearch::num_candidates(options.beam), model.target_vocabulary);
        const TopLogProbabilitiesOutputs top = top_log_probabilities(
            builder, builder.graph().output("logits"), {count, model.target_vocabulary});
        builder.output("log_probabilities", top.log_probabilities);
        builder.output("top_tokens", top.indices);
    };
}

}  // namespace

void Translator::Encoder::encode(std::span<const std::span<const TokenId>> sources, std::int64_t rows) {
    MPT_CHECK(static_cast<std::int64_t>(sources.size()) <= rows, "more sources than rows");
    extent_ = {rows, round_up(static_cast<std::int64_t>(sources.front().size()) + 1, kLengthMultiple)};
    std::unique_ptr<InferencePlan>& plan = plans_[extent_];
    if (!plan)
        plan = std::make_unique<InferencePlan>(weights_, "encode", [this](GraphBuilder& builder) {
            transformer_encode_graph(builder, {extent_.rows, extent_.length}, options_.model);
        });
    const std::span<TokenId> tokens = plan->input<TokenId>("source");
    const std::span<std::int32_t> lengths = plan->input<std::int32_t>("source_lengths");
    std::ranges::fill(tokens, options_.specials.padding);
    std::ranges::fill(lengths, 0);
    lengths_.clear();
    for (std::size_t row = 0; row < sources.size(); ++row) {
        const auto to = tokens.subspan(row * static_cast<std::size_t>(extent_.length));
        std::ranges::copy(sources[row], to.begin());
        to[sources[row].size()] = options_.specials.end;
        lengths_.push_back(static_cast<std::int64_t>(sources[row].size()) + 1);
        lengths[row] = static_cast<std::int32_t>(lengths_.back());
    }
    plan->run();
}

std::span<const float> Translator::Encoder::cross(std::int64_t layer, std::size_t row) const {
    const auto width = static_cast<std::size_t>(2 * options_.model.width);
    const std::span<const float> all = plans_.at(extent_)->output<float>(numbered("cross.", layer));
    return all.subspan(row * static_cast<std::size_t>(extent_.length) * width,
                       static_cast<std::size_t>(lengths_[row]) * width);
}

Translator::Decoder::Decoder(const TranslatorOptions& options, InferenceWeights& weights,
                             const DecoderExtent& extent)
    : options_(options),
      extent_(extent),
      plan_(weights, "decode", decoder_graph(options, extent)),
      places_(static_cast<std::size_t>(extent.places)),
      tokens_(plan_.input<TokenId>("tokens")),
      positions_(plan_.input<std::int32_t>("position")),
      source_lengths_(plan_.input<std::int32_t>("source_lengths")),
      log_probabilities_(plan_.output<float>("log_probabilities")),
      top_tokens_(plan_.output<std::int32_t>("top_tokens")) {
    for (std::int64_t layer = 0; layer < options.model.decoder_depth; ++layer) {
        cross_.push_back(plan_.input<float>(numbered("cross.", layer)));
        caches_.push_back(plan_.input<float>(numbered("cache.", layer)));
    }
    // A free place reads padding at position 0 and sees no source.
    std::ranges::fill(tokens_, options.specials.padding);
}

std::int64_t Translator::Decoder::bytes_a_place(const TranslatorOptions& options,
                                                const DecoderExtent& extent) {
    const TransformerConfig& model = options.model;
    const std::int64_t kept =
        model.decoder_depth * 2 * model.width * (options.beam * extent.capacity + extent.source);
    return static_cast<std::int64_t>(sizeof(float)) * (kept + options.beam * model.target_vocabulary);
}

void Translator::Decoder::admit(std::int64_t place, const Encoder& encoder, std::size_t row,
                                std::int64_t limit) {
    const BeamOptions beam{options_.beam, options_.length_penalty, options_.specials.begin,
                           options_.specials.end};
    places_[static_cast<std::size_t>(place)] = std::make_unique<BeamSearch>(beam, limit);
    source_lengths_[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(encoder.length(row));
    for (std::size_t layer = 0; layer < cross_.size(); ++layer) {
        const std::span<const float> from = encoder.cross(static_cast<std::int64_t>(layer), row);
        const std::size_t stride = cross_[layer].size() / places_.size();
        std::ranges::copy(from, cross_[layer].begin() + static_cast<std::ptrdiff_t>(stride) * place);
    }
}

void Translator::Decoder::step() {
    const std::int64_t beam = options_.beam;
    for (std::int64_t place = 0; place < extent_.places; ++place) {
        const BeamSearch* search = places_[static_cast<std::size_t>(place)].get();
        for (std::int64_t k = 0; search != nullptr && k < beam; ++k) {
            tokens_[static_cast<std::size_t>(place * beam + k)] = search->token(k);
            positions_[static_cast<std::size_t>(place * beam + k)] =
                static_cast<std::int32_t>(search->length());
        }
    }
    plan_.run();
    const std::size_t share = log_probabilities_.size() / places_.size();
    cpu::parallel_for(extent_.places, std::max<std::int64_t>(1, 8 / beam), options_.run.num_threads,
                      [&](cpu::Range range, int) {
                          for (std::int64_t place = range.begin; place < range.end; ++place) {
                              BeamSearch* search = places_[static_cast<std::size_t>(place)].get();
                              if (search == nullptr) continue;
                              const std::size_t at = static_cast<std::size_t>(place) * share;
                              search->advance(log_probabilities_.subspan(at, share),
                                              top_tokens_.subspan(at, share));
                              if (!search->finished()) follow_parents(place, search->length());
                          }
                      });
}

void Translator::Decoder::follow_parents(std::int64_t place, std::int64_t length) {
    const BeamSearch& search = *places_[static_cast<std::size_t>(place)];
    const std::int64_t stride = extent_.capacity * 2 * options_.model.width;
    for (std::int64_t k = 0; k < options_.beam; ++k) {
        const std::int64_t parent = search.parent(k);
        if (parent == k) continue;
        for (const std::span<float> cache : caches_)
            std::copy_n(cache.begin() + (place * options_.beam + parent) * stride,
                        length * 2 * options_.model.width,
                        cache.begin() + (place * options_.beam + k) * stride);
    }
}

Hypothesis Translator::Decoder::release(std::int64_t place) {
    const auto at = static_cast<std::size_t>(place);
    Hypothesis best = places_[at]->best();
    places_[at] = nullptr;
    source_lengths_[at] = 0;
    for (std::size_t row = at * static_cast<std::size_t>(options_.beam);
         row < (at + 1) * static_cast<std::size_t>(options_.beam); ++row) {
        tokens_[row] = options_.specials.padding;
        positions_[row] = 0;
    }
    return best;
}

void Translator::Decoder::release_all() {
    for (std::int64_t place = 0; place < extent_.places; ++place)
        if (!is_free(place)) release(place);
}

}  // namespace mpt
