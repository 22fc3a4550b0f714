#include "run_place.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "train/run_directory.h"

namespace mpt::app {
namespace {

namespace fs = std::filesystem;

bool same_folder(const fs::path& a, const fs::path& b) {
    std::error_code error;
    return a == b || fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

bool names_output(const ConfigOptions& config) {
    return std::ranges::any_of(config.set,
                               [](const std::string& text) { return text.starts_with("output_dir="); });
}

[[noreturn]] void ask(const std::string& what, const fs::path& place, const fs::path& output,
                      const std::string& remedy) {
    throw Error(ExitCode::kUsage, what + " lies in the run " + place.string() + ", but output_dir is " +
                                      output.string() + "; " + remedy);
}

}  // namespace

ReadConfig read_config_of_run(ConfigOptions config, std::vector<std::string> overrides,
                              const RunWords& words) {
    const fs::path of_checkpoint = words.path.empty() ? fs::path() : run_of_checkpoint(words.path);
    if (config.config.empty() && !words.path.empty() && of_checkpoint.empty())
        throw Error(ExitCode::kCheckpoint, words.path +
                                               ": is neither the folder of a run nor a checkpoint in "
                                               "one; with --config FILE it may lie anywhere");
    if (config.config.empty() && fs::exists(of_checkpoint / "config.yaml"))
        config.config = (of_checkpoint / "config.yaml").string();
    ReadConfig read = config.read(overrides);
    const bool open = (words.resumes || words.overwrites) && !words.names_output && !names_output(config);
    if (!open) return read;
    const std::string file = find_config(config.config);
    const fs::path of_config = run_of_config(file);
    const fs::path place = of_checkpoint.empty() ? of_config : of_checkpoint;
    const fs::path output = read.config.output_dir;
    if (place.empty() || same_folder(place, output)) return read;
    if (words.overwrites)
        ask("--overwrite: " + file, place, output, "say with --output which of the two starts anew");
    if (place != of_config)
        ask("--resume: " + words.path, place, output,
            "--output " + place.string() + " goes on there, --output " + output.string() +
                " begins another run from its checkpoint");
    overrides.push_back("output_dir=" + place.string());
    read = config.read(std::move(overrides));
    read.warnings.push_back("output_dir in " + file + " is " + output.string() + ", but the run lies in " +
                            place.string() + ", and goes on there");
    return read;
}

}  // namespace mpt::app
