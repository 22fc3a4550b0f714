#include <fmt/core.h>

#include "command_line.h"
#include "commands.h"

namespace mpt::app {

int keys_command(const std::vector<std::string>& arguments) {
    CLI::App app("Lists every key of a config with type, default, range and meaning.", "mpt-train keys");
    bool markdown = false;
    app.add_flag("--markdown", markdown, "as configs/README.md");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    fmt::print("{}", markdown ? keys_markdown() : keys_text());
    return 0;
}

}  // namespace mpt::app
