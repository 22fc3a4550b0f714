#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "child_process.h"
#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "core/printable.h"
#include "metrics/json_lines.h"
#include "report/sweep_table.h"
#include "stop_signals.h"

namespace mpt::app {
namespace {

namespace fs = std::filesystem;

struct SweepOptions {
    ConfigOptions config;
    std::vector<std::string> over;
    std::string out, best = "throughput";
    bool dry_run = false, again = false;
};

void declare(CLI::App& app, SweepOptions& options) {
    options.config.add_to(app);
    app.add_option("--over", options.over, "an axis: a key and its values; several axes are combined")
        ->type_name("KEY=VALUE,...")
        ->expected(1, -1);
    app.add_option("--out", options.out, "directory of the sweep; a sweep that is there is gone on with")
        ->type_name("DIR");
    app.add_option("--best", options.best, "compare by throughput, loss, top1, perplexity or bleu")
        ->type_name("METRIC");
    app.add_flag("--again", options.again, "run combinations that failed once more");
    app.add_flag("--dry-run", options.dry_run, "only list the combinations");
}

struct Sweep {
    std::vector<SweepAxis> axes;
    std::vector<SweepPoint> points;
    fs::path out;
    std::vector<std::string> common;  // arguments of every child
    std::map<std::size_t, SweepRow> done;
};

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string description_of(const SweepOptions& options, const std::string& config) {
    const nlohmann::ordered_json json = {{"config", config},
                                         {"text", text_of(config)},
                                         {"set", options.config.overrides()},
                                         {"over", options.over}};
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) throw Error(ExitCode::kResource, path.string() + ": cannot be written");
}

// A directory holds one sweep; another one must not be mixed into it.
void open_directory(const Sweep& sweep, const std::string& description) {
    std::error_code error;
    fs::create_directories(sweep.out, error);
    if (error) throw Error(ExitCode::kResource, sweep.out.string() + ": cannot be made: " + error.message());
    const fs::path known = sweep.out / "sweep_of.json";
    if (fs::exists(known) && text_of(known) != description)
        throw Error(ExitCode::kUsage, sweep.out.string() +
                                          ": holds another sweep (see sweep_of.json); give another --out, or "
                                          "the same --config, --set and --over to go on with it, the "
                                          "config's text unchanged");
    write_text(known, description);
}

void read_done(Sweep& sweep, bool again) {
    std::istringstream lines(text_of(sweep.out / "rows.jsonl"));
    std::string kept;
    for (std::string line; std::getline(lines, line);) try {
            SweepRow row = sweep_row(line);
            if (row.index >= sweep.points.size() || (again && row.status != SweepStatus::kOk)) continue;
            kept += line + "\n";
            sweep.done[row.index] = std::move(row);
        } catch (const std::exception&) {
            continue;  // torn by a kill: that combination is run again
        }
    write_text(sweep.out / "rows.jsonl", kept);
}

void read_summary(const fs::path& metrics, SweepRow& row) {
    std::ifstream file(metrics);
    for (std::string line; std::getline(file, line);) {
        const auto json = nlohmann::json::parse(line, nullptr, false);
        if (!json.is_object() || json.value("kind", "") != "summary") continue;
        const auto number = [&](const std::string& key) -> std::optional<double> {
            const auto found = json.find(key);
            if (found == json.end() || !found->is_number()) return std::nullopt;
            return found->get<double>();
        };
        for (const char* unit : {"images", "tokens"})
            if (const auto rate = number(std::string(unit) + "_per_sec_median")) {
                row.unit = unit;
                row.per_second = rate;
            }
        row.loss = number("loss");
        row.top1 = number("top1");
        row.perplexity = number("perplexity");
        row.bleu = number("bleu");
        row.skipped = static_cast<std::int64_t>(number("skipped").value_or(0));
    }
}

SweepRow run_point(const Sweep& sweep, std::size_t index, const StopFlag& stop) {
    SweepRow row;
    row.index = index;
    row.point = sweep.points[index];
    row.folder = folder_of(index, sweep.axes, row.point);
    std::vector<std::string> arguments = {"train"};
    arguments.insert(arguments.end(), sweep.common.begin(), sweep.common.end());
    arguments.push_back("--set");
    for (std::size_t a = 0; a < sweep.axes.size(); ++a)
        arguments.push_back(sweep.axes[a].key + "=" + row.point[a]);
    arguments.insert(arguments.end(), {"--set", "log.console=quiet", "--overwrite", "--output",
                                       (sweep.out / row.folder).string()});
    const ChildResult child = run_child(arguments, sweep.out / (row.folder + ".log"), stop);
    row.peak_mib = child.peak_mib;
    row.seconds = child.seconds;
    read_summary(sweep.out / row.folder / "metrics.jsonl", row);
    if (child.exit_code == 0) return row;
    const bool killed = child.signal == SIGKILL;  // as the kernel does when memory runs out
    row.status = child.exit_code == static_cast<int>(ExitCode::kResource) || killed
                     ? SweepStatus::kOutOfMemory
                     : SweepStatus::kFailed;
    row.reason = child.signal != 0 ? fmt::format("ended by signal {}", child.signal)
                                   : fmt::format("exit {}: {}", child.exit_code, child.last_line);
    return row;
}

void say(const Sweep& sweep, const SweepRow& row) {
    std::string text;
    for (std::size_t a = 0; a < sweep.axes.size(); ++a)
        text += fmt::format("{}={} ", sweep.axes[a].key, row.point[a]);
    text += name_of(row.status);
    if (row.status != SweepStatus::kOk) text += ": " + row.reason;
    if (row.per_second) text += fmt::format(", {:.5g} {}/s", *row.per_second, row.unit);
    if (row.loss) text += fmt::format(", loss {:.5g}", *row.loss);
    if (row.top1) text += fmt::format(", top1 {:.2f} %", 100 * *row.top1);
    if (row.bleu) text += fmt::format(", BLEU {:.2f}", *row.bleu);
    print_line(fmt::format("[{}/{}] {}, {:.0f} MiB, {:.1f} s", row.index + 1, sweep.points.size(), text,
                           row.peak_mib, row.seconds));
    std::fflush(stdout);
}

void finish(const Sweep& sweep, SweepMetric metric) {
    std::vector<SweepRow> rows;
    for (const auto& [index, row] : sweep.done) rows.push_back(row);
    write_text(sweep.out / "sweep.csv", csv(sweep.axes, rows));
    write_text(sweep.out / "sweep.json", json(sweep.axes, rows, metric));
    write_text(sweep.out / "sweep.md", markdown(sweep.axes, rows, metric));
    write_text(sweep.out / "sweep.svg", plot(sweep.axes, rows, metric));
    fmt::print("\n{}\n", printable_lines(markdown(sweep.axes, rows, metric)));
    print_line(sweep.out.string() + ": rows.jsonl sweep.csv sweep.json sweep.md sweep.svg");
}

// A combination may be at fault, and its row says so; when the first ones all are, the command is.
void check_points(const Sweep& sweep, const ConfigOptions& config) {
    constexpr std::size_t kTried = 100;
    std::string fault;
    for (std::size_t i = 0; i < std::min(sweep.points.size(), kTried); ++i) try {
            std::vector<std::string> values;
            for (std::size_t a = 0; a < sweep.axes.size(); ++a)
                values.push_back(sweep.axes[a].key + "=" + sweep.points[i][a]);
            config.read(values);
            return;
        } catch (const Error& error) {
            if (fault.empty()) fault = error.what();
        }
    throw Error(ExitCode::kUsage, fault);
}

Sweep sweep_of(const SweepOptions& options) {
    if (options.over.empty())
        throw Error(ExitCode::kUsage, "--over KEY=VALUE,... is missing: what is the sweep over?");
    Sweep sweep;
    for (const std::string& text : options.over) {
        const SweepAxis axis = parse_axis(text);
        if (std::ranges::find(sweep.axes, axis.key, &SweepAxis::key) != sweep.axes.end())
            throw Error(ExitCode::kUsage, "--over " + text + ": there is an axis " + axis.key +
                                              " already; all its values belong into one");
        sweep.axes.push_back(axis);
    }
    sweep.points = points_of(sweep.axes);
    const RunConfig config = options.config.read().config;  // faults that all combinations share
    check_points(sweep, options.config);
    sweep.out = options.out.empty() ? fs::path("runs") / ("sweep-" + config.name) : fs::path(options.out);
    sweep.out = fs::absolute(sweep.out).lexically_normal();
    sweep.common = {"--config", fs::absolute(find_config(options.config.config)).string()};
    for (const std::string& set : options.config.set) {
        sweep.common.push_back("--set");
        sweep.common.push_back(set);
    }
    if (!options.config.device.empty())
        sweep.common.insert(sweep.common.end(), {"--device", options.config.device});
    if (!options.config.threads.empty())
        sweep.common.insert(sweep.common.end(), {"--threads", options.config.threads});
    return sweep;
}

}  // namespace

int sweep_command(const std::vector<std::string>& arguments) {
    CLI::App app("Trains every combination of some keys' values, each in a process of its own.",
                 "mpt-train sweep");
    SweepOptions options;
    declare(app, options);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const SweepMetric metric = sweep_metric(options.best);
    Sweep sweep = sweep_of(options);
    if (options.dry_run) {
        for (std::size_t i = 0; i < sweep.points.size(); ++i)
            print_line(folder_of(i, sweep.axes, sweep.points[i]));
        return 0;
    }
    open_directory(sweep, description_of(options, sweep.common[1]));
    read_done(sweep, options.again);
    if (!sweep.done.empty())
        fmt::print("{} of {} combinations are done already\n", sweep.done.size(), sweep.points.size());
    const StopFlag& stop = work_until_asked();
    JsonLines rows((sweep.out / "rows.jsonl").string());
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
        if (sweep.done.contains(i)) continue;
        SweepRow row = run_point(sweep, i, stop);
        if (stop.asked() != 0) {  // the child was asked to stop as well: this row does not count
            tell("sweep stopped; the same command goes on with it");
            return 128 + stop.asked();
        }
        rows.write(to_json(row));
        say(sweep, row);
        sweep.done[i] = std::move(row);
    }
    finish(sweep, metric);
    return 0;
}

}  // namespace mpt::app
