#include <fmt/core.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <new>
#include <sstream>

#include "commands.h"
#include "core/error.h"

namespace {

constexpr int kInternalError = 1;

int dispatch(std::vector<std::string> words) {
    using namespace mpt::app;
    static const std::map<std::string, int (*)(const std::vector<std::string>&)> kCommands = {
        {"train", train_command},
        {"eval", eval_command},
        {"plan", plan_command},
        {"bench", bench_command},
        {"sweep", sweep_command},
        {"report", report_command},
        {"data", data_command},
        {"pack", pack_command},
        {"export-images", export_images_command},
        {"devices", devices_command},
        {"gemm", gemm_command},
        {"keys", keys_command},
    };
    const auto command = kCommands.find(words.empty() ? "" : words.front());
    if (command == kCommands.end()) return train_command(words);
    words.erase(words.begin());
    return command->second(words);
}

// One line on stderr for each fault, and the exit code.
int report(const std::string& text, int code) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) fmt::print(stderr, "mpt-train: {}\n", line);
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // `| head` must not end a run
    std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), as a full disk is
    try {
        return dispatch({argv + 1, argv + argc});
    } catch (const mpt::Error& error) {
        return report(error.what(), static_cast<int>(error.code()));
    } catch (const std::filesystem::filesystem_error& error) {
        return report(error.path1().string() + ": cannot be used: " + error.code().message(),
                      static_cast<int>(mpt::ExitCode::kUsage));
    } catch (const std::bad_alloc&) {
        return report("out of memory; lower train.batch_size or raise train.accumulate",
                      static_cast<int>(mpt::ExitCode::kResource));
    } catch (const std::exception& error) {
        return report(std::string("internal error: ") + error.what(), kInternalError);
    }
}
