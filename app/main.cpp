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
    const std::string first = words.empty() ? "" : words.front();
    if (first == "train" || first == "eval" || first == "keys" || first == "devices" || first == "gemm")
        words.erase(words.begin());
    if (first == "eval") return mpt::app::eval_command(words);
    if (first == "keys") return mpt::app::keys_command(words);
    if (first == "devices") return mpt::app::devices_command(words);
    if (first == "gemm") return mpt::app::gemm_command(words);
    const std::map<std::string, int (*)(const std::vector<std::string>&)> commands = {
        {"train", mpt::app::train_command}, {"eval", mpt::app::eval_command},
        {"keys", mpt::app::keys_command},   {"data", mpt::app::data_command},
        {"pack", mpt::app::pack_command},   {"export-images", mpt::app::export_images_command}};
    if (const auto found = commands.find(first); found != commands.end()) {
        words.erase(words.begin());
        return found->second(words);
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
