#include "train/bleu_scorer.h"

#include <fmt/core.h>

#include "dataset/text/bleu.h"
#include "train/text_model.h"

namespace mpt {

BleuScorer::BleuScorer(const RunConfig& config, const RunData& data)
    : data_(data),
      beam_(config.translation.beam),
      translator_(translator_options(config, data.description.vocabulary, *data.tokenizers().target)) {
    std::span<const std::string> lines = data.validation_sources();
    if (const auto limit = config.translation.limit; limit && static_cast<std::size_t>(*limit) < lines.size())
        lines = lines.first(static_cast<std::size_t>(*limit));
    for (const std::string& line : lines)
        sources_.push_back(encode_source(*data.tokenizers().source, line, config.model.context));
}

std::string BleuScorer::summary() const {
    const double bytes = static_cast<double>(translator_.weights().bytes() + working_bytes());
    return fmt::format("BLEU: {} validation sentences, beam {}, {:.0f} MiB of weights and caches",
                       sources_.size(), beam_, bytes / (1024 * 1024));
}

std::optional<double> BleuScorer::score(TrainingProgram& program, const StopFlag* stop) {
    translator_.weights().copy_from(program.variables(), program.region(Region::kMaster));
    const auto translations = translator_.translate(
        sources_, [stop](std::int64_t) { return stop == nullptr || stop->asked() == 0; });
    if (!translations) return std::nullopt;
    std::vector<std::string> lines;
    for (const Hypothesis& translation : *translations)
        lines.push_back(decode_line(*data_.tokenizers().target, translation.tokens));
    return corpus_bleu(lines, data_.validation_references().first(lines.size())).score;
}

std::unique_ptr<BleuScorer> make_bleu_scorer(const RunConfig& config, const RunData& data) {
    const bool wanted = config.model.type == ModelType::kTransformer && config.translation.bleu;
    if (!wanted || data.validation_sources().empty()) return nullptr;
    return std::make_unique<BleuScorer>(config, data);
}

}  // namespace mpt
