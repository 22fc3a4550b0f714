#include "command_line.h"

#include <algorithm>
#include <cstdio>

#include "config/key.h"
#include "config/numbers.h"
#include "config/suggest.h"
#include "core/error.h"
#include "core/printable.h"

namespace mpt::app {
namespace {

std::vector<std::string> names_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

Error unexpected(const CLI::App& app, const std::string& word) {
    std::string text = "unknown argument '" + word + "'";
    const std::string option = word.substr(0, word.find('='));
    if (const auto similar = nearest(option, names_of(app)))
        text += "; did you mean " + *similar + "?";
    else
        text += "; " + app.get_name() + " --help lists the options";
    return Error(ExitCode::kUsage, text);
}

}  // namespace

void ConfigOptions::add_to(CLI::App& app) {
    app.add_option("--config", config, "YAML file of the run; a bare name is also looked for in ./configs")
        ->type_name("FILE");
    app.add_option("--set", set, "change keys of the config; see `mpt-train keys`")
        ->type_name("KEY=VALUE ...");
    app.add_option("--device", device, "auto, cpu, cuda or cuda:N")->type_name("DEVICE");
    app.add_option("--threads", threads, "CPU threads that compute")->type_name("N");
}

ReadConfig ConfigOptions::read(std::vector<std::string> further_overrides) const {
    if (config.empty())
        throw Error(ExitCode::kUsage, "--config FILE is missing; configs/ has some to start from");
    std::vector<std::string> all = overrides();
    for (std::string& override_text : further_overrides) all.push_back(std::move(override_text));
    return read_config(find_config(config), all);
}

std::vector<std::string> ConfigOptions::overrides() const {
    std::vector<std::string> all = set;
    if (!device.empty()) all.push_back("device=" + device);
    if (!threads.empty()) all.push_back("threads=" + threads);
    return all;
}

std::int64_t whole_of(const std::string& option, const std::string& text, std::int64_t min,
                      std::int64_t max) {
    const mpt::Parsed<std::int64_t> parsed = parse_whole(text);
    const auto* value = std::get_if<std::int64_t>(&parsed);
    if (value == nullptr || *value < min || *value > max)
        throw Error(ExitCode::kUsage, option + " '" + text + "': whole numbers from " + std::to_string(min) +
                                          " to " + std::to_string(max) + " are accepted");
    return *value;
}

double real_of(const std::string& option, const std::string& text, double min, double max) {
    const mpt::Parsed<double> parsed = parse_real(text);
    const auto* value = std::get_if<double>(&parsed);
    if (value == nullptr || !(*value >= min && *value <= max))  // nan is in no range
        throw Error(ExitCode::kUsage, option + " '" + text + "': numbers from " + print_real(min) + " to " +
                                          print_real(max) + " are accepted");
    return *value;
}

void print_line(const std::string& text) {
    std::fputs((printable(text) + "\n").c_str(), stdout);
}

void tell(const std::string& text) {
    std::fputs(("mpt-train: " + printable(text) + "\n").c_str(), stderr);
}

void check_value(const std::string& option, const std::string& key, const std::string& value) {
    Faults faults({option + " " + value});
    YamlItem item;
    item.kind = YamlItem::Kind::kScalar;
    item.text = value;
    RunConfig config;
    const Key& found = *find_key(key);
    found.set(found, Setting{item, "/", faults}, config);
    faults.throw_if_any();
}

Parsed parse(CLI::App& app, const std::vector<std::string>& arguments) {
    app.allow_extras();
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return Parsed::kHelpShown;
    } catch (const CLI::ParseError& error) {
        std::string text = error.what();
        std::replace(text.begin(), text.end(), '\n', ' ');
        throw Error(ExitCode::kUsage, text);
    }
    if (const std::vector<std::string> extras = app.remaining(); !extras.empty())
        throw unexpected(app, extras.front());
    return Parsed::kRun;
}

}  // namespace mpt::app
