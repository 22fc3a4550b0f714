#include <fmt/core.h>

#include <filesystem>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "run_place.h"
#include "stop_signals.h"
#include "study/cpu_probe.h"
#include "train/trainer.h"

namespace mpt::app {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
    ConfigOptions config;
    std::string output, resume, init_from;
    CLI::Option* resume_option = nullptr;
    bool overwrite = false;
    bool dump_graph = false;
    std::string profile;
    bool version = false;
};

void declare(CLI::App& app, TrainOptions& options) {
    app.footer(
        "Other commands: mpt-train eval, generate, translate, plan, bench, sweep, report, data, pack, "
        "export-images, devices, gemm, keys; each has --help.\n"
        "Exit codes: 0 done; 2 bad usage or config; 3 bad data; 4 divergence; 5 checkpoint; 6 memory or "
        "disk;\n"
        "130/143 stopped by Ctrl-C/SIGTERM, after saving a checkpoint.");
    options.config.add_to(app);
    app.add_option("--output", options.output, "directory of the run (output_dir)")->type_name("DIR");
    options.resume_option =
        app.add_option(
               "--resume", options.resume,
               "go on with a run: from a checkpoint or run directory, or (auto) from the newest good "
               "checkpoint of the output directory; a run that was moved goes on where its config.yaml "
               "lies")
            ->type_name("[PATH|auto]")
            ->expected(0, 1);
    app.add_flag("--overwrite", options.overwrite, "start anew in a directory that holds a run");
    app.add_option(
           "--init-from", options.init_from,
           "start from these weights: a safetensors file, a checkpoint or a run (checkpoint.init_from)")
        ->type_name("PATH");
    app.add_flag("--dump-graph", options.dump_graph,
                 "write the graph after every pass that changed it to graph.txt, the plan to plan.txt");
    app.add_option("--profile", options.profile,
                   "time each op of this many updates: profile.txt and trace.json (debug.profile)")
        ->type_name("N");
    app.add_flag("--version", options.version, "versions, instruction sets, backends");
}

std::string absolute(const std::string& path) {
    return fs::absolute(path).lexically_normal().string();
}

// An empty word is most often a shell variable that is not set; it must not silently mean the default.
void refuse_empty(const CLI::App& app) {
    for (const char* name : {"--output", "--init-from", "--device", "--threads", "--config"}) {
        const CLI::Option* option = app.get_option(name);
        if (option->count() > 0 && option->results().front().empty())
            throw Error(ExitCode::kUsage, std::string(name) + " is given an empty value");
    }
}

TrainRequest request_of(const TrainOptions& options) {
    std::vector<std::string> overrides;
    if (!options.output.empty()) overrides.push_back("output_dir=" + absolute(options.output));
    if (!options.init_from.empty())
        overrides.push_back("checkpoint.init_from=" + absolute(options.init_from));
    if (options.dump_graph) overrides.push_back("debug.dump_graph=true");
    if (!options.profile.empty()) overrides.push_back("debug.profile=" + options.profile);
    const bool resumes = options.resume_option->count() > 0;
    const bool automatic = options.resume.empty() || options.resume == "auto";
    ReadConfig read = read_config_of_run(
        options.config, std::move(overrides),
        {resumes, options.overwrite, automatic ? "" : options.resume, !options.output.empty()});
    TrainRequest request;
    request.config = std::move(read.config);
    request.resolved = std::move(read.resolved);
    request.warnings = std::move(read.warnings);
    if (resumes) {
        if (!options.init_from.empty())
            throw Error(ExitCode::kUsage,
                        "--resume and --init-from exclude each other: a resumed run has its weights");
        request.resume.kind = automatic ? ResumeKind::kAuto : ResumeKind::kPath;
        request.resume.path = options.resume;
    }
    request.existing = options.overwrite ? Existing::kOverwrite : Existing::kKeep;
    request.console = stdout;
    return request;
}

}  // namespace

int train_command(const std::vector<std::string>& arguments) {
    CLI::App app("Trains ResNets and Transformers in mixed precision, from one YAML file to a checkpoint.",
                 "mpt-train");
    TrainOptions options;
    declare(app, options);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    if (options.version) {
        fmt::print("{}", version_text());
        return 0;
    }
    refuse_empty(app);
    const StopFlag& stop = catch_stop_signals("before the first update");
    TrainRequest request = request_of(options);
    request.stop = &stop;
    if (request.config.debug.profile > 0) request.machine = measured_machine(request.config);
    const TrainResult result = train(request);
    if (result.signal == 0) {
        if (!result.message.empty()) print_line(result.message);
        return 0;
    }
    tell(result.message);
    return 128 + result.signal;
}

}  // namespace mpt::app
