#include "metrics/json_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"

namespace mpt {
namespace {

Error disk_error(const std::string& path, int error) {
    return Error(ExitCode::kResource, path + ": cannot write: " + std::strerror(error));
}

}  // namespace

JsonLines::JsonLines(const std::string& path) : path_(path) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0) throw disk_error(path, errno);
}

JsonLines::~JsonLines() {
    ::close(file_);
}

void JsonLines::write(std::string line) {
    line += '\n';
    std::size_t done = 0;
    while (done < line.size()) {
        const ssize_t n = ::write(file_, line.data() + done, line.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw disk_error(path_, errno);
        done += static_cast<std::size_t>(n);
    }
}

std::string rows_to_keep(const std::string& text, const RowsToKeep& keep) {
    std::istringstream lines(text);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line, nullptr, false);
        if (!row.is_object() || !row.contains("step") || !row["step"].is_number_integer()) continue;
        const std::int64_t step = row["step"].get<std::int64_t>();
        const std::string kind = row.value("kind", "");
        if (step > keep.step || kind == "summary") continue;
        if (step == keep.step && kind == "train" && keep.interval_open) continue;
        if (step == keep.step && kind == "eval" && keep.evaluation_due) continue;
        kept += line + '\n';
    }
    return kept;
}

}  // namespace mpt
