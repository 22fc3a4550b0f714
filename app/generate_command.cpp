#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "generate/sampler.h"
#include "generate/text_stream.h"
#include "train/text_model.h"

namespace mpt::app {
namespace {

struct GenerateOptions {
    ConfigOptions config;
    std::string checkpoint, prompt;
    CLI::Option* prompt_option = nullptr;
    std::string tokens = "500", temperature = "0.8", top_k = "200", seed = "1", drop = "1";
};

void declare(CLI::App& app, GenerateOptions& options) {
    app.footer(
        "The model sees the last model.context tokens. Exit codes: 0 done; 2 bad usage; 3 bad prompt; "
        "5 checkpoint.");
    app.add_option("--checkpoint", options.checkpoint,
                   "a checkpoint's directory, a run's (its best, else its newest) or a safetensors file")
        ->type_name("PATH");
    options.prompt_option =
        app.add_option("--prompt", options.prompt, "what to go on with")->type_name("TEXT");
    app.add_option("--tokens", options.tokens, "how many to write")->type_name("N")->capture_default_str();
    app.add_option("--temperature", options.temperature, "0: always the likeliest token")
        ->type_name("T")
        ->capture_default_str();
    app.add_option("--top-k", options.top_k, "draw among the K likeliest tokens; 0: among all")
        ->type_name("K")
        ->capture_default_str();
    app.add_option("--seed", options.seed, "the same seed draws the same text")
        ->type_name("S")
        ->capture_default_str();
    app.add_option("--drop", options.drop,
                   "tokens dropped from the front when the context is full, and the rest read again; more is "
                   "faster")
        ->type_name("N")
        ->capture_default_str();
    options.config.add_to(app);
}

TokenIds prompt_tokens(const GenerateOptions& options, const Tokenizer& tokenizer) {
    if (options.prompt_option->count() == 0) throw Error(ExitCode::kUsage, "--prompt TEXT is missing");
    TokenIds ids;
    try {
        ids = tokenizer.encode(options.prompt);
    } catch (const Error& error) {
        throw Error(error.code(), std::string("--prompt: ") + error.what());
    }
    if (!ids.empty()) return ids;
    const TokenId begin = tokenizer.special().begin;
    if (begin < 0)
        throw Error(ExitCode::kUsage,
                    "--prompt is empty, and the " + tokenizer.kind() +
                        " vocabulary has no token for a beginning; give it at least one character");
    return {begin};
}

void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0)
        throw Error(ExitCode::kResource,
                    std::string("standard output: cannot be written: ") + std::strerror(errno));
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
    CLI::App app("Writes text with a trained GPT.", "mpt-train generate");
    GenerateOptions options;
    declare(app, options);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    if (options.checkpoint.empty()) throw Error(ExitCode::kUsage, "--checkpoint PATH is missing");
    constexpr std::int64_t kMany = 1'000'000'000;
    const std::int64_t count = whole_of("--tokens", options.tokens, 0, kMany);
    SamplingOptions sampling;
    sampling.temperature = real_of("--temperature", options.temperature, 0, 100);
    sampling.top_k = whole_of("--top-k", options.top_k, 0, kMany);
    sampling.seed = static_cast<std::uint64_t>(whole_of("--seed", options.seed, 0, INT64_MAX));
    const std::int64_t drop = whole_of("--drop", options.drop, 1, kMany);

    std::signal(SIGPIPE, SIG_DFL);  // `| head` ends it quietly
    const TextModel model = open_text_model(
        {options.checkpoint, options.config.config, options.config.overrides(), ModelType::kGpt});
    for (const std::string& notice : model.notices) tell(notice);
    const Tokenizer& tokenizer = *model.tokenizers.target;
    const TokenIds prompt = prompt_tokens(options, tokenizer);
    const std::unique_ptr<GptGenerator> generator = load_generator(model, drop);
    if (static_cast<std::int64_t>(prompt.size()) > model.config.model.context)
        fmt::print(stderr, "mpt-train: the prompt has {} tokens; the model sees the last {}\n", prompt.size(),
                   model.config.model.context);

    write(options.prompt);
    TextStream text(tokenizer);
    for (const TokenId id : prompt) text.add(id);
    Sampler sampler(sampling);
    std::span<const float> logits = generator->start(prompt);
    for (std::int64_t i = 0; i < count; ++i) {
        const TokenId token = sampler.choose(logits, i);
        write(text.add(token));
        if (i + 1 < count) logits = generator->next(token);
    }
    write(text.finish() + "\n");
    return 0;
}

}  // namespace mpt::app
