#include <fmt/core.h>

#include <cmath>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "stop_signals.h"
#include "train/checkpoint_path.h"
#include "train/evaluator.h"

namespace mpt::app {

int eval_command(const std::vector<std::string>& arguments) {
    CLI::App app("Evaluates a checkpoint on the config's test data.", "mpt-train eval");
    ConfigOptions config;
    std::string checkpoint;
    config.add_to(app);
    app.add_option("--checkpoint", checkpoint,
                   "a checkpoint's directory, a run's (its best, else its newest) or a safetensors file; "
                   "without --config its own config is taken")
        ->type_name("PATH");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    if (checkpoint.empty()) throw Error(ExitCode::kUsage, "--checkpoint PATH is missing");
    const FoundCheckpoint found = find_checkpoint(checkpoint);
    for (const std::string& notice : found.notices) tell(notice);
    const ReadConfig read =
        config.config.empty() ? config_of_checkpoint(found.path, config.overrides()) : config.read();
    const StopFlag& stop = catch_stop_signals("in the evaluation");
    std::vector<std::string> notices;
    const auto evaluation = evaluate_checkpoint(read.config, found.path.string(), &stop, &notices);
    for (const std::string& notice : notices) tell("warning: " + notice);
    if (!evaluation) {
        tell("evaluation stopped");
        return 128 + stop.asked();
    }
    fmt::print("{}\n", print(*evaluation));
    if (!std::isfinite(evaluation->loss))
        throw Error(ExitCode::kDivergence,
                    found.path.string() +
                        ": the evaluation's loss is not finite: its training diverged; "
                        "take an earlier checkpoint, or train with a lower optimizer.lr");
    return 0;
}

}  // namespace mpt::app
