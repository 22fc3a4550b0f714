#include <fmt/core.h>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "dataset/dataset.h"
#include "dataset/pictures/pack.h"
#include "stop_signals.h"
#include "train/run_setup.h"

namespace mpt::app {

int export_images_command(const std::vector<std::string>& arguments) {
    CLI::App app("Writes the data set of a config (IDX, CIFAR-10, ...) as an image folder.",
                 "mpt-train export-images");
    ConfigOptions config;
    ExportOptions options;
    std::string format = "png";
    config.add_to(app);
    app.add_option("--output", options.output, "folder that train and val are written into")
        ->type_name("DIR");
    app.add_option("--format", format, "png, exact, or jpeg; default png")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"png", "jpeg"}));
    app.add_option("--quality", options.quality, "of JPEGs; default 95")
        ->type_name("Q")
        ->check(CLI::Range(1, 100));
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    if (options.output.empty()) throw Error(ExitCode::kUsage, "--output DIR is missing");
    options.format = format == "png" ? ExportFormat::kPng : ExportFormat::kJpeg;
    const ReadConfig read = config.read();
    const AskStop stop = stop_by_signals();
    std::vector<OpenedSource> opened;
    for (const Split split : {Split::kTrain, Split::kTest}) {
        SourceOptions source = source_options(read.config, split);
        source.stop = stop;
        opened.push_back(open_source(source));
        if (!opened.back().warning.empty()) throw Error(ExitCode::kData, opened.back().warning);
    }
    const ExportSplit splits[] = {{"train", opened[0].source.get()}, {"val", opened[1].source.get()}};
    export_images(splits, options, stop);
    for (const ExportSplit& split : splits)
        fmt::print("{}: {} images\n", split.folder, split.source->num_samples());
    return 0;
}

}  // namespace mpt::app
