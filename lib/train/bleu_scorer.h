// BLEU of a run's model on its validation sentences.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/translator.h"
#include "train/run_data.h"
#include "train/stop_flag.h"
#include "train/training_program.h"

namespace mpt {

class BleuScorer {
  public:
    // `data` must outlive it.
    BleuScorer(const RunConfig& config, const RunData& data);

    // What scoring will take beyond what this object holds already.
    std::int64_t working_bytes() const { return translator_.working_bytes(sources_); }
    // "BLEU: 1014 validation sentences, beam 1, 40 MiB of weights and caches".
    std::string summary() const;
    // Of greedy or beam search with the program's masters, on detokenized text, as sacreBLEU scores it. Empty
    // when `stop` was raised before the end.
    std::optional<double> score(TrainingProgram& program, const StopFlag* stop);

  private:
    const RunData& data_;
    std::int64_t beam_;
    std::vector<TokenIds> sources_;
    Translator translator_;
};

// Null where the config asks for none, or the data has no text.
std::unique_ptr<BleuScorer> make_bleu_scorer(const RunConfig& config, const RunData& data);

}  // namespace mpt
