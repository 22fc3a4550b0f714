#include "train/evaluator.h"

#include <cmath>
#include <filesystem>
#include <numbers>

#include "train/durable_file.h"
#include "train/resume.h"
#include "train/run_setup.h"
#include "train/text_tokenizer.h"

namespace mpt {
namespace {

// Puts the moving average in the masters' place for as long as this lives.
class AverageInPlace {
  public:
    explicit AverageInPlace(TrainingProgram* program) : program_(program) {
        if (program_ != nullptr) program_->swap_ema();
    }
    ~AverageInPlace() {
        if (program_ != nullptr) program_->swap_ema();
    }
    AverageInPlace(const AverageInPlace&) = delete;
    AverageInPlace& operator=(const AverageInPlace&) = delete;

  private:
    TrainingProgram* program_;
};

}  // namespace

std::optional<EvaluationRow> evaluate(TrainingProgram& program, const RunData& data, WeightsToUse weights,
                                      const StopFlag* stop, BleuScorer* bleu) {
    EvaluationRow result;
    result.unit = data.unit();
    result.ema = weights == WeightsToUse::kAverageIfThere && program.has_ema();
    const AverageInPlace average(result.ema ? &program : nullptr);
    const std::unique_ptr<BatchFeed> feed = data.evaluation_feed();
    double loss = 0;
    std::int64_t hits1 = 0;
    std::int64_t hits5 = 0;
    for (FeedItem item = feed->next(); item.batch != nullptr; item = feed->next()) {
        if (stop != nullptr && stop->asked() != 0) return std::nullopt;
        const BatchResult batch = program.run_evaluation(*item.batch);
        loss += batch.loss_sum;
        hits1 += batch.hits1;
        hits5 += batch.hits5;
        result.samples += batch.weight;
    }
    const auto samples = static_cast<double>(result.samples);
    result.loss = loss / samples;
    result.top1 = static_cast<double>(hits1) / samples;
    result.top5 = static_cast<double>(hits5) / samples;
    const double bits = result.loss / std::numbers::ln2;
    if (data.characters_per_target() > 0) result.bits_per_character = bits / data.characters_per_target();
    if (data.bytes_per_target() > 0) result.bits_per_byte = bits / data.bytes_per_target();
    if (bleu == nullptr || !std::isfinite(result.loss)) return result;
    result.bleu = bleu->score(program, stop);
    if (!result.bleu) return std::nullopt;
    return result;
}

namespace {

// Of a checkpoint's directory; a bare file of weights has none.
TrainedWith trained_with(const std::string& checkpoint) {
    TrainedWith trained;
    trained.only_evaluated = true;
    trained.tokenizer = tokenizer_of_checkpoint(checkpoint);
    const std::filesystem::path file = std::filesystem::path(checkpoint) / "state.json";
    if (!std::filesystem::exists(file)) return trained;
    trained.checkpoint = checkpoint;
    TrainingState state = training_state_from_json(read_text_file(file), file.string());
    trained.class_names = std::move(state.class_names);
    trained.normalization = std::move(state.normalization);
    return trained;
}

}  // namespace

std::optional<EvaluationRow> evaluate_checkpoint(const RunConfig& config, const std::string& checkpoint,
                                                 const StopFlag* stop, std::vector<std::string>* notices) {
    check_supported(config);
    std::unique_ptr<RunData> data;
    try {
        data = open_data(config, trained_with(checkpoint), ask(stop));
    } catch (const Stopped&) {
        return std::nullopt;
    }
    if (notices != nullptr) *notices = data->warnings;
    TrainingProgram program(config, data->description, num_threads(config));
    expect_batches(program, *data, {});
    program.check_fits(program.available_bytes());
    program.allocate();
    program.initialize(config.seed);
    load_weights(program, checkpoint);
    const std::unique_ptr<BleuScorer> bleu = make_bleu_scorer(config, *data);
    return evaluate(program, *data, WeightsToUse::kMasters, stop, bleu.get());
}

}  // namespace mpt
