// One function per subcommand, each in a file of its own. They return the exit code and throw mpt::Error.
#pragma once

#include <string>
#include <vector>

namespace mpt::app {

int train_command(const std::vector<std::string>& arguments);
int eval_command(const std::vector<std::string>& arguments);
int generate_command(const std::vector<std::string>& arguments);
int translate_command(const std::vector<std::string>& arguments);
int keys_command(const std::vector<std::string>& arguments);
std::string version_text();

}  // namespace mpt::app
