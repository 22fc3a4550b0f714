#include <fmt/core.h>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "dataset/dataset.h"
#include "dataset/pictures/pack.h"
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
    for (const Split split : {Split::kTrain, Split::kTest}) {
        const OpenedSource opened = open_source(source_options(read.config, split));
        if (!opened.warning.empty()) throw Error(ExitCode::kData, opened.warning);
        options.split = split == Split::kTrain ? "train" : "val";
        export_images(*opened.source, options);
        fmt::print("{}: {} images\n", options.split, opened.source->num_samples());
    }
    return 0;
}

}  // namespace mpt::app
