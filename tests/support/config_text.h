// Reading a config from text in a test, as the file cfg/run.yaml would be read.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "config/read.h"
#include "core/error.h"

namespace mpt {

inline ReadConfig read_text(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return read_config_text(text, "run.yaml", "/cfg", overrides);
}

// The lines of the error that reading ends with; empty if it does not fail.
inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines = {""};
    for (const char c : text) {
        if (c == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    return lines;
}

inline std::vector<std::string> faults_of(const std::string& text,
                                          const std::vector<std::string>& overrides = {}) {
    try {
        read_text(text, overrides);
    } catch (const Error& error) {
        if (error.code() != ExitCode::kUsage) return {"another exit code than 2"};
        return lines_of(error.what());
    }
    return {};
}

// The one fault there is; several are joined with " & " so that a comparison shows them.
inline std::string fault_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    std::string all;
    for (const std::string& line : faults_of(text, overrides)) all += (all.empty() ? "" : " & ") + line;
    return all;
}

// A folder that is removed with its contents.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "mpt_config_XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file.string();
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace mpt
