#include <fmt/core.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <sstream>

#include "commands.h"
#include "core/error.h"

namespace {

constexpr int kInternalError = 1;

struct Command {
    std::string_view name;
    int (*run)(const std::vector<std::string>& arguments);
};
constexpr Command kCommands[] = {{"train", mpt::app::train_command},
                                 {"eval", mpt::app::eval_command},
                                 {"generate", mpt::app::generate_command},
                                 {"translate", mpt::app::translate_command},
                                 {"plan", mpt::app::plan_command},
                                 {"bench", mpt::app::bench_command},
                                 {"sweep", mpt::app::sweep_command},
                                 {"report", mpt::app::report_command},
                                 {"data", mpt::app::data_command},
                                 {"pack", mpt::app::pack_command},
                                 {"export-images", mpt::app::export_images_command},
                                 {"devices", mpt::app::devices_command},
                                 {"gemm", mpt::app::gemm_command},
                                 {"keys", mpt::app::keys_command}};

int dispatch(std::vector<std::string> words) {
    const std::string first = words.empty() ? "" : words.front();
    for (const Command& command : kCommands) {
        if (first != command.name) continue;
        words.erase(words.begin());
        return command.run(words);
    }
    return mpt::app::train_command(words);
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
