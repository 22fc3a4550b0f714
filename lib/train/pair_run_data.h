// Sentence pairs, and the text of the validation pairs for BLEU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/run_data.h"

namespace mpt {

class PairRunData : public RunData {
  public:
    // `trained`: a checkpoint's tokenizer, or null.
    PairRunData(const RunConfig& config, std::shared_ptr<const Tokenizer> trained);
    ~PairRunData() override;

    Unit unit() const override { return Unit::kTokens; }
    std::string summary() const override;
    std::vector<std::string> findings() const override;
    DataIdentity identity() const override;
    RunTokenizers tokenizers() const override;
    double characters_per_target() const override;
    double bytes_per_target() const override;
    std::span<const std::string> validation_sources() const override;
    std::span<const std::string> validation_references() const override;

    std::vector<BatchShape> training_shapes(const StreamPosition& start) const override;
    std::vector<BatchShape> evaluation_shapes() const override;
    std::unique_ptr<BatchFeed> training_feed(const StreamPosition& start) const override;
    std::unique_ptr<BatchFeed> evaluation_feed() const override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mpt
