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
int devices_command(const std::vector<std::string>& arguments);
int gemm_command(const std::vector<std::string>& arguments);
int data_command(const std::vector<std::string>& arguments);
int pack_command(const std::vector<std::string>& arguments);
int export_images_command(const std::vector<std::string>& arguments);
int plan_command(const std::vector<std::string>& arguments);
int bench_command(const std::vector<std::string>& arguments);
int sweep_command(const std::vector<std::string>& arguments);
int report_command(const std::vector<std::string>& arguments);
std::string version_text();

}  // namespace mpt::app
