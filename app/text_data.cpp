#include "text_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "command_line.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/printable.h"
#include "dataset/text/token_windows.h"
#include "dataset/text/tokenizer.h"
#include "stop_signals.h"
#include "train/run_data.h"
#include "train/text_check.h"

namespace mpt::app {
namespace {

void check_files(const RunConfig& config) {
    const std::vector<std::string> faults = text_faults(config);
    for (const std::string& fault : faults) print_line(fault);
    if (!faults.empty())
        throw Error(ExitCode::kData, fmt::format("{} faults in the text data, listed on standard output; "
                                                 "mend the files",
                                                 faults.size()));
    for (const std::string& oddity : text_oddities(config)) print_line(oddity);
}

// One sequence of a batch, without its padding.
TokenIds sequence_of(const MicroBatch& batch, std::string_view name, std::int64_t row, std::int64_t length) {
    const auto input = std::ranges::find(batch.inputs, name, &GraphInput::name);
    MPT_CHECK(input != batch.inputs.end(), std::string(name) + " is not in the batch");
    TokenIds ids(static_cast<std::size_t>(length));
    std::memcpy(ids.data(), input->bytes.data() + static_cast<std::size_t>(row * length) * sizeof(TokenId),
                ids.size() * sizeof(TokenId));
    return ids;
}

void print_sequence(const char* what, const TokenIds& ids, const Tokenizer* tokenizer) {
    std::string numbers;
    for (const TokenId id : ids) numbers += " " + std::to_string(id);
    fmt::print("  {}, {} tokens:{}\n", what, ids.size(), numbers);
    if (tokenizer != nullptr) fmt::print("  {}, text: '{}'\n", what, printable(tokenizer->decode(ids)));
}

void show_pair(const MicroBatch& batch, std::int64_t row, const RunTokenizers& tokenizers) {
    TokenIds source = sequence_of(batch, "source", row, batch.shape.source_length);
    const TokenId length = sequence_of(batch, "source_lengths", row, 1).front();
    source.resize(static_cast<std::size_t>(length));
    TokenIds targets = sequence_of(batch, "targets", row, batch.shape.length);
    std::erase(targets, kIgnoredTarget);
    print_sequence("source", source, tokenizers.source.get());
    print_sequence("target", targets, tokenizers.target.get());
}

void show_window(const MicroBatch& batch, std::int64_t row, const RunTokenizers& tokenizers) {
    TokenIds window = sequence_of(batch, "tokens", row, batch.shape.length);
    window.push_back(sequence_of(batch, "targets", row, batch.shape.length).back());
    print_sequence("window and the token after it", window, tokenizers.target.get());
}

bool is_padding(const MicroBatch& batch, std::int64_t row) {
    const TokenIds targets = sequence_of(batch, "targets", row, batch.shape.length);
    return std::ranges::count(targets, kIgnoredTarget) == batch.shape.length;
}

// The first samples, as they are trained on.
void show_samples(const RunData& data, int count) {
    const RunTokenizers tokenizers = data.tokenizers();
    const auto feed = data.training_feed({});
    for (int shown = 0; shown < count;) {
        const FeedItem item = feed->next();
        const bool pairs = item.batch->shape.source_length > 0;
        if (pairs && item.epoch > 0) return;  // all have been shown; windows are drawn anew
        for (std::int64_t row = 0; row < item.batch->shape.rows && shown < count; ++row) {
            if (is_padding(*item.batch, row)) continue;
            fmt::print("sample {}\n", ++shown);
            pairs ? show_pair(*item.batch, row, tokenizers) : show_window(*item.batch, row, tokenizers);
        }
    }
}

// Makes batches alone, epoch after epoch, for some seconds.
void measure(const RunData& data, double seconds) {
    const auto feed = data.training_feed({});
    feed->next();  // caches
    const double begin = now_seconds();
    std::int64_t tokens = 0, batches = 0;
    double at = begin;
    while (at - begin < seconds) {
        tokens += feed->next().batch->weight;
        ++batches;
        at = now_seconds();
    }
    fmt::print("loader: {:.0f} tokens/s by the training thread, {} tokens in {} batches in {:.1f} s\n",
               static_cast<double>(tokens) / (at - begin), tokens, batches, at - begin);
}

}  // namespace

void look_at_text(const RunConfig& config, const TextDataWords& words) {
    catch_stop_signals("before all was looked at");
    if (words.check) check_files(config);
    const std::unique_ptr<RunData> data = open_data(config);
    const std::vector<std::string> findings = data->findings();
    for (const std::string& warning : data->warnings)
        if (std::ranges::find(findings, warning) == findings.end()) print_line("warning: " + warning);
    print_line(data->summary());
    for (const std::string& finding : findings) print_line(finding);
    if (words.check)
        fmt::print("{}\n", is_made_up(config.data) ? "nothing to check: there are no files" : "0 faults");
    if (words.show > 0) show_samples(*data, words.show);
    if (words.bench) measure(*data, words.seconds);
}

}  // namespace mpt::app
