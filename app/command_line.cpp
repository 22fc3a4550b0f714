#include "command_line.h"

#include <algorithm>
#include <cstdio>

#include "config/suggest.h"
#include "core/error.h"

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
    std::vector<std::string> overrides = set;
    if (!device.empty()) overrides.push_back("device=" + device);
    if (!threads.empty()) overrides.push_back("threads=" + threads);
    for (std::string& override_text : further_overrides) overrides.push_back(std::move(override_text));
    return read_config(find_config(config), overrides);
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
