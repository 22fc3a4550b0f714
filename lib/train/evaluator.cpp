#include "train/evaluator.h"

#include "train/resume.h"
#include "train/run_setup.h"

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

std::optional<Evaluation> evaluate(TrainingProgram& program, const ImageSource& source,
                                   const StreamOptions& stream_options, WeightsToUse weights,
                                   const StopFlag* stop) {
    Evaluation result;
    result.ema = weights == WeightsToUse::kAverageIfThere && program.has_ema();
    const AverageInPlace average(result.ema ? &program : nullptr);
    BatchStream stream(source, stream_options);
    double loss = 0;
    std::int64_t hits1 = 0;
    std::int64_t hits5 = 0;
    for (NextBatch next = stream.next(); next.batch != nullptr; next = stream.next()) {
        if (stop != nullptr && stop->asked() != 0) return std::nullopt;
        const auto bytes = static_cast<std::size_t>(next.batch->count * source.geometry().bytes());
        const BatchResult batch =
            program.run_evaluation(next.batch->images.bytes().first(bytes), next.batch->labels);
        loss += batch.loss_sum;
        hits1 += batch.hits1;
        hits5 += batch.hits5;
        result.samples += batch.samples;
    }
    const auto samples = static_cast<double>(result.samples);
    result.loss = loss / samples;
    result.top1 = static_cast<double>(hits1) / samples;
    result.top5 = static_cast<double>(hits5) / samples;
    return result;
}

std::optional<Evaluation> evaluate_checkpoint(const RunConfig& config, const std::string& checkpoint,
                                              const StopFlag* stop) {
    check_supported(config);
    const RunData data = open_data(config);
    TrainingProgram program(config, data.description, num_threads(config));
    expect_batches(program, config, data, {});
    program.check_fits(memory_limit(config));
    program.allocate();
    program.initialize(config.seed);
    load_weights(program, checkpoint);
    StreamOptions stream = training_stream(config, {});
    stream = evaluation_stream(evaluation_batch(config), stream.workers, stream.prefetch);
    return evaluate(program, *data.test, stream, WeightsToUse::kMasters, stop);
}

}  // namespace mpt
