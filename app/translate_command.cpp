#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "train/text_model.h"

namespace mpt::app {
namespace {

constexpr std::size_t kLinesAtOnce = 1024;  // enough to sort by length and to fill the batches

struct TranslateOptions {
    ConfigOptions config;
    std::string checkpoint, beam, length_penalty;
};

void declare(CLI::App& app, TranslateOptions& options) {
    app.footer(
        "Reads sentences from standard input, a line each, and writes a line for each. Exit codes: 0 done; "
        "2 bad usage; 3 bad text; 5 checkpoint.");
    app.add_option("--checkpoint", options.checkpoint,
                   "a checkpoint's directory, a run's (its best, else its newest) or a safetensors file")
        ->type_name("PATH");
    app.add_option("--beam", options.beam, "hypotheses kept at each step; 1: greedy (translation.beam)")
        ->type_name("N");
    app.add_option("--length-penalty", options.length_penalty,
                   "of longer sentences (translation.length_penalty)")
        ->type_name("ALPHA");
    options.config.add_to(app);
}

TextModel open_model(const TranslateOptions& options) {
    if (options.checkpoint.empty()) throw Error(ExitCode::kUsage, "--checkpoint PATH is missing");
    std::vector<std::string> overrides = options.config.overrides();
    const auto add = [&](const char* option, const char* key, const std::string& value) {
        if (value.empty()) return;
        check_value(option, key, value);
        overrides.push_back(std::string(key) + "=" + value);
    };
    add("--beam", "translation.beam", options.beam);
    add("--length-penalty", "translation.length_penalty", options.length_penalty);
    return open_text_model(
        {options.checkpoint, options.config.config, std::move(overrides), ModelType::kTransformer});
}

// Lines from standard input to standard output.
class LineTranslator {
  public:
    explicit LineTranslator(const TextModel& model)
        : model_(model),
          translator_(load_translator(model)),
          shows_progress_(isatty(STDERR_FILENO) != 0 && isatty(STDIN_FILENO) == 0) {}

    // False at the end of the input.
    bool read(std::size_t most) {
        sources_.clear();
        std::string line;
        while (sources_.size() < most && std::getline(std::cin, line)) sources_.push_back(tokens_of(line));
        return !sources_.empty();
    }

    void translate() {
        const auto translations = translator_->translate(sources_, [this](std::int64_t done) {
            if (shows_progress_) fmt::print(stderr, "\r{} lines", num_done_ + done);
            return true;
        });
        for (const Hypothesis& translation : *translations)
            fmt::print("{}\n", decode_line(*model_.tokenizers.target, translation.tokens));
        if (std::fflush(stdout) != 0)
            throw Error(ExitCode::kResource,
                        std::string("standard output: cannot be written: ") + std::strerror(errno));
        num_done_ += static_cast<std::int64_t>(sources_.size());
    }

    void end() const {
        if (shows_progress_) fmt::print(stderr, "\r{} lines\n", num_done_);
        if (num_cut_ > 0)
            fmt::print(stderr,
                       "mpt-train: {} of the lines had more than {} tokens, all that the model takes, and "
                       "were cut\n",
                       num_cut_, longest());
    }

  private:
    std::int64_t longest() const { return model_.config.model.context - 1; }

    TokenIds tokens_of(std::string& line) {
        if (line.ends_with('\r')) line.pop_back();
        TokenIds ids;
        try {
            ids = encode_source(*model_.tokenizers.source, line, model_.config.model.context);
        } catch (const Error& error) {
            throw Error(error.code(), fmt::format("standard input, line {}: {}",
                                                  num_done_ + static_cast<std::int64_t>(sources_.size()) + 1,
                                                  error.what()));
        }
        if (static_cast<std::int64_t>(ids.size()) > longest()) ++num_cut_;
        return ids;
    }

    const TextModel& model_;
    std::unique_ptr<Translator> translator_;
    bool shows_progress_;
    std::vector<TokenIds> sources_;
    std::int64_t num_done_ = 0, num_cut_ = 0;
};

}  // namespace

int translate_command(const std::vector<std::string>& arguments) {
    CLI::App app("Translates with a trained encoder-decoder.", "mpt-train translate");
    TranslateOptions options;
    declare(app, options);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    std::signal(SIGPIPE, SIG_DFL);  // `| head` ends it quietly
    const TextModel model = open_model(options);
    for (const std::string& notice : model.notices) tell(notice);
    LineTranslator translator(model);
    std::ios::sync_with_stdio(false);
    // What somebody types is answered at once.
    const std::size_t at_once = isatty(STDIN_FILENO) != 0 ? 1 : kLinesAtOnce;
    while (translator.read(at_once)) translator.translate();
    if (std::cin.bad())
        throw Error(ExitCode::kData, "standard input cannot be read; give it a file or a pipe: < in > out");
    translator.end();
    return 0;
}

}  // namespace mpt::app
