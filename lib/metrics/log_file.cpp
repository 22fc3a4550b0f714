#include "metrics/log_file.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <sstream>

#include "core/error.h"
#include "core/printable.h"

namespace mpt {

// A logger of its own, not in spdlog's registry: two runs in one process do not meet.
struct LogFile::State {
    explicit State(const std::string& path)
        : logger("run", std::make_shared<spdlog::sinks::basic_file_sink_st>(path)) {
        logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %-7l %v");
        logger.flush_on(spdlog::level::info);
        // A full disk is noticed by metrics.jsonl and the checkpoints; spdlog would print on stderr.
        logger.set_error_handler([](const std::string&) {});
    }
    void write(spdlog::level::level_enum level, const std::string& text) {
        std::istringstream lines(printable_lines(text));
        for (std::string line; std::getline(lines, line);) logger.log(level, "{}", line);
    }
    spdlog::logger logger;
};

LogFile::LogFile(const std::string& path) {
    try {
        state_ = std::make_unique<State>(path);
    } catch (const spdlog::spdlog_ex& error) {
        throw Error(ExitCode::kResource, path + ": cannot write the log: " + error.what());
    }
}

LogFile::~LogFile() = default;

void LogFile::info(const std::string& text) {
    state_->write(spdlog::level::info, text);
}

void LogFile::warn(const std::string& text) {
    state_->write(spdlog::level::warn, text);
}

void LogFile::error(const std::string& text) {
    state_->write(spdlog::level::err, text);
}

}  // namespace mpt
