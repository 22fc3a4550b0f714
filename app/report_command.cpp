#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "report/html_report.h"
#include "study/memory_timeline.h"

namespace mpt::app {
namespace {

// A run whose config this version cannot plan still has its curves.
std::vector<ReportPicture> pictures_of(const std::vector<RunRecord>& runs) {
    std::vector<ReportPicture> pictures;
    for (const RunRecord& run : runs) {
        if (run.config.empty()) continue;
        try {
            const RunConfig config = read_config((run.folder / "config.yaml").string()).config;
            pictures.push_back({run.name, "memory", memory_picture(config, run.name)});
        } catch (const Error& error) {
            tell(fmt::format("{}: no picture of its memory: {}", run.name, error.what()));
        }
    }
    return pictures;
}

// What a report must not be written over: any file but an earlier page.
void check_target(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return;
    constexpr std::string_view kPage = "<!DOCTYPE html>";
    std::ifstream file(path, std::ios::binary);
    std::string begin(kPage.size(), '\0');
    if (!file.read(begin.data(), 1)) return;  // empty
    file.read(begin.data() + 1, static_cast<std::streamsize>(begin.size()) - 1);
    if (begin != kPage)
        throw Error(ExitCode::kUsage,
                    "--out " + path + ": is there already and no page of a report; give another name");
}

// A sweep stands for its runs, of which those have a folder with metrics that came as far as that.
std::vector<std::string> runs_of(const std::string& folder) {
    namespace fs = std::filesystem;
    if (!fs::exists(fs::path(folder) / "sweep_of.json")) return {folder};
    std::vector<std::string> runs;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (fs::exists(entry.path() / "metrics.jsonl")) runs.push_back(entry.path().string());
    if (runs.empty()) throw Error(ExitCode::kData, folder + ": no run of this sweep has metrics yet");
    std::ranges::sort(runs);
    return runs;
}

// Runs of one name by their paths.
void tell_apart(std::vector<RunRecord>& runs) {
    std::map<std::string, int> times;
    for (const RunRecord& run : runs) ++times[run.name];
    for (RunRecord& run : runs)
        if (times[run.name] > 1) run.name = run.folder.string();
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
    CLI::App app("Draws the curves of runs, side by side, into one HTML page.", "mpt-train report");
    std::vector<std::string> folders;
    std::string out = "report.html";
    app.add_option("RUN", folders, "directories of runs, or of sweeps for all their runs")
        ->type_name("DIR ...");
    app.add_option("--out", out, "the page to write")->type_name("FILE.html");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    if (folders.empty())
        throw Error(ExitCode::kUsage, "which runs? mpt-train report RUN... [--out FILE.html]");
    check_target(out);
    std::vector<RunRecord> runs;
    for (const std::string& folder : folders)
        for (const std::string& run : runs_of(folder)) runs.push_back(read_run(run));
    tell_apart(runs);
    const std::string page = html_report(runs, pictures_of(runs));
    std::ofstream file(out, std::ios::binary | std::ios::trunc);
    file << page;
    if (!file.flush()) throw Error(ExitCode::kResource, out + ": cannot be written");
    print_line(fmt::format("{}: {} run{}, {} KiB", out, runs.size(), runs.size() == 1 ? "" : "s",
                           page.size() / 1024));
    return 0;
}

}  // namespace mpt::app
