#include <fmt/core.h>

#include "backends/cpu/threads.h"
#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "dataset/pictures/pack.h"
#include "stop_signals.h"

namespace mpt::app {
namespace {

struct PackWords {
    PackOptions options;
    std::int64_t shard_mb = 256;
    bool skip_broken = false, allow_empty = false;
};

void declare(CLI::App& app, PackWords& words) {
    PackOptions& options = words.options;
    app.add_option("--input", options.input, "image folder: train/<class>/... and, if there, val or test")
        ->type_name("DIR");
    app.add_option("--output", options.output, "where train-*.tar, val-*.tar and their indices go")
        ->type_name("DIR");
    app.add_option("--resize", options.resize,
                   "make larger pictures JPEGs of this short side, upright; default: bytes as they are")
        ->type_name("SHORT_SIDE")
        ->check(CLI::Range(16, 8192));
    app.add_option("--quality", options.quality, "of JPEGs that are made; default 92")
        ->type_name("Q")
        ->check(CLI::Range(1, 100));
    app.add_option("--shard-mb", words.shard_mb, "size of a shard; default 256")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    app.add_option("--shuffle", options.shuffle_seed,
                   "order drawn from this seed, for tools that read shards from front to back")
        ->type_name("SEED")
        ->check(CLI::Range(0, 0x7fffffff));
    app.add_flag("--skip-broken", words.skip_broken, "leave out pictures that cannot be decoded");
    app.add_flag("--allow-empty", words.allow_empty, "classes without pictures keep their numbers");
}

}  // namespace

int pack_command(const std::vector<std::string>& arguments) {
    CLI::App app("Packs an image folder into tar shards with an index and checksums (data.type: shards).",
                 "mpt-train pack");
    PackWords words;
    declare(app, words);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    PackOptions& options = words.options;
    if (options.input.empty() || options.output.empty())
        throw Error(ExitCode::kUsage,
                    options.input.empty() ? "--input DIR is missing" : "--output DIR is missing");
    options.shard_bytes = static_cast<std::uint64_t>(words.shard_mb) << 20;
    options.broken = words.skip_broken ? BrokenFiles::kSkip : BrokenFiles::kStop;
    options.empty_classes = words.allow_empty ? EmptyClasses::kAllow : EmptyClasses::kError;
    options.num_threads = cpu::num_usable_cores();
    for (const PackReport& report : pack_folder(options, stop_by_signals())) {
        for (const std::string& notice : report.notices) tell(notice);
        fmt::print("{}: {} pictures in {} shards, {:.1f} MB\n", report.split, report.num_pictures,
                   report.num_shards, static_cast<double>(report.bytes) / 1e6);
    }
    return 0;
}

}  // namespace mpt::app
