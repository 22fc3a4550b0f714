#include "train/text_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "dataset/text/parallel_text.h"
#include "dataset/text/text_file.h"
#include "dataset/text/token_stream.h"
#include "train/text_tokenizer.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kShownLines = 20;
constexpr std::int64_t kGpt2Vocabulary = 50257;

class FaultList {
  public:
    std::vector<std::string> lines;

    // Whether it went well.
    bool try_to(const std::function<void()>& read) {
        try {
            read();
            return true;
        } catch (const Error& error) {
            if (error.code() != ExitCode::kData) throw;  // the config's fault
            lines.emplace_back(error.what());
            return false;
        }
    }
    bool read_text(const std::string& path) {
        return path.empty() || try_to([&] { read_text_file(path); });
    }
};

void check_shards(FaultList& faults, const RunConfig& config) {
    const auto tokenizer = open_token_file_tokenizer(config.data);
    const auto limit =
        static_cast<std::int32_t>(vocabulary_of(config.model, tokenizer.get(), kGpt2Vocabulary));
    for (const std::string& path : {config.data.path, config.data.validation_path}) {
        if (path.empty()) continue;
        std::vector<std::string> shards;
        faults.try_to([&] { shards = token_shard_paths(path); });
        for (const std::string& shard : shards) faults.try_to([&] { open_token_shards({shard}, limit); });
    }
}

void check_tabs(FaultList& faults, const std::string& path) {
    if (path.empty() || !faults.read_text(path)) return;
    const std::string text = read_text_file(path);
    std::int64_t number = 0, wrong = 0;
    for (const std::string_view line : lines_of(text)) {
        ++number;
        const auto fields = std::ranges::count(line, '\t') + 1;
        if (fields != 2 && ++wrong <= kShownLines)
            faults.lines.push_back(
                fmt::format("{}:{}: {} field(s), expected source, tab, target", path, number, fields));
    }
    if (wrong > kShownLines)
        faults.lines.push_back(fmt::format("{}: and {} more lines like these", path, wrong - kShownLines));
}

void check_two_files(FaultList& faults, const std::string& source, const std::string& target) {
    const bool readable = faults.read_text(source);
    const bool both = faults.read_text(target) && readable;
    if (both && !source.empty() && !target.empty())
        faults.try_to([&] { ParallelText::from_files(source, target); });
}

void count_empty(std::vector<std::string>& lines, const ParallelText& text) {
    std::int64_t number = 0, count = 0, first = 0;
    for (const ParallelText::Pair& pair : text.pairs()) {
        ++number;
        if (!pair.source.empty() && !pair.target.empty()) continue;
        if (count++ == 0) first = number;
    }
    if (count > 0)
        lines.push_back(
            fmt::format("{}: {} of {} pairs have an empty side and are left out, the first on "
                        "line {}",
                        text.origin(), count, number, first));
}

}  // namespace

bool is_made_up(const DataConfig& data) {
    return data.type == DataType::kSynthetic;
}

std::vector<std::string> text_faults(const RunConfig& config) {
    const DataConfig& data = config.data;
    FaultList faults;
    if (is_made_up(data)) return {};
    const std::string& first = data.path.empty() ? data.source_path : data.path;
    if (data.if_missing == IfMissing::kSynthetic && (first.empty() || !fs::exists(first)))
        return {(first.empty() ? "data.path is not set" : first + ": there is no such file") +
                "; training would run on random tokens (data.if_missing: synthetic)"};
    if (data.type == DataType::kTokens) {
        check_shards(faults, config);
    } else if (data.type == DataType::kParallel) {
        check_tabs(faults, data.path);
        check_tabs(faults, data.validation_path);
        check_two_files(faults, data.source_path, data.target_path);
        check_two_files(faults, data.validation_source_path, data.validation_target_path);
    } else {
        faults.read_text(data.path);
        faults.read_text(data.validation_path);
    }
    return faults.lines;
}

std::vector<std::string> text_oddities(const RunConfig& config) {
    const DataConfig& data = config.data;
    std::vector<std::string> lines;
    if (is_made_up(data) || data.type != DataType::kParallel) return lines;
    for (const std::string& path : {data.path, data.validation_path})
        if (!path.empty()) count_empty(lines, ParallelText::from_tsv(path));
    for (const auto& [source, target] : {std::pair(data.source_path, data.target_path),
                                         std::pair(data.validation_source_path, data.validation_target_path)})
        if (!source.empty()) count_empty(lines, ParallelText::from_files(source, target));
    return lines;
}

}  // namespace mpt
