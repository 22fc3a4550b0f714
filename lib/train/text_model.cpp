#include "train/text_model.h"

#include <algorithm>

#include "backends/cpu/threads.h"
#include "config/read.h"
#include "core/error.h"
#include "dataset/text/pair_batches.h"
#include "dataset/text/unicode.h"
#include "train/checkpoint_path.h"
#include "train/program_config.h"
#include "train/resume.h"
#include "train/run_setup.h"
#include "train/text_tokenizer.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kGpt2Vocabulary = 50257;  // of token files without a tokenizer
constexpr std::size_t kMostBytesAToken = 128;    // no token of the known vocabularies is longer

// Of a model that is nothing but weights: what its training text gives, as training made it.
std::shared_ptr<const Tokenizer> tokenizer_from_text(const fs::path& checkpoint, const RunConfig& config) {
    const DataConfig& data = config.data;
    const std::string& text = data.path.empty() ? data.source_path : data.path;
    if (text.empty() || !fs::exists(text))
        throw Error(
            ExitCode::kCheckpoint,
            checkpoint.string() +
                ": has no tokenizer beside it, and the training text it could be made "
                "from" +
                (text.empty() ? " (data.path) is not named" : ", " + text + ", is not there") +
                "; name that text with --set data.path=FILE, or give the run's folder as --checkpoint");
    return open_data(config)->tokenizers().target;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const fs::path& checkpoint, const RunConfig& config,
                                              const char* name) {
    const fs::path folder = (fs::is_directory(checkpoint) ? checkpoint : checkpoint.parent_path()) / name;
    if (fs::exists(folder)) return load_tokenizer(folder.string());
    if (tokenizer_type(config.data) == TokenizerType::kBytes) return make_byte_tokenizer();
    if (!config.data.tokenizer_path.empty()) return open_token_file_tokenizer(config.data);
    if (config.data.type == DataType::kText || config.data.type == DataType::kParallel)
        return tokenizer_from_text(checkpoint, config);
    throw Error(ExitCode::kCheckpoint,
                folder.string() +
                    ": there is no such folder: the model was trained on tokens without a tokenizer; "
                    "name one with --set data.tokenizer_path=PATH (and data.tokenizer=gpt2)");
}

void check_type(const TextModel& model, ModelType wanted) {
    const ModelType type = model.config.model.type;
    if (type == wanted) return;
    const char* use = type == ModelType::kGpt           ? "`mpt-train generate` uses it"
                      : type == ModelType::kTransformer ? "`mpt-train translate` uses it"
                                                        : "it has no text to give";
    throw Error(ExitCode::kUsage, model.checkpoint.string() + ": is a model of type " +
                                      std::string(name_of(type)) + ", not " + std::string(name_of(wanted)) +
                                      "; " + use);
}

InferenceOptions inference_options(const RunConfig& config) {
    return {num_threads(config), config.debug.reference_kernels ? &reference_kernels() : &cpu_kernels()};
}

StoreView view_of(const InferenceWeights& weights) {
    StoreView view;
    view.table = &weights.table();
    view.regions[static_cast<std::size_t>(Region::kMaster)] = weights.masters();
    return view;
}

}  // namespace

TextModel open_text_model(const TextModelRequest& request) {
    TextModel model;
    FoundCheckpoint found = find_checkpoint(request.checkpoint);
    model.checkpoint = std::move(found.path);
    model.notices = std::move(found.notices);
    ReadConfig read = request.config.empty() ? config_of_checkpoint(model.checkpoint, request.overrides)
                                             : read_config(find_config(request.config), request.overrides);
    model.config = std::move(read.config);
    check_type(model, request.type);
    check_supported(model.config);
    cpu::start_threads(num_threads(model.config));  // a system that refuses them says so here
    model.tokenizers.target = tokenizer_of(model.checkpoint, model.config, "tokenizer");
    model.tokenizers.source = model.tokenizers.target;
    model.vocabulary = vocabulary_of(model.config.model, model.tokenizers.target.get(), kGpt2Vocabulary);
    return model;
}

std::unique_ptr<GptGenerator> load_generator(const TextModel& model, std::int64_t drop) {
    GptGeneratorOptions options;
    options.model = gpt_config(model.config, model.vocabulary);
    options.drop = drop;
    options.run = inference_options(model.config);
    auto generator = std::make_unique<GptGenerator>(options);
    load_weights(view_of(generator->weights()), model.checkpoint.string());
    return generator;
}

TranslatorOptions translator_options(const RunConfig& config, std::int64_t vocabulary,
                                     const Tokenizer& tokenizer) {
    TranslatorOptions options;
    options.model = transformer_config(config, vocabulary);
    options.specials = pair_specials(tokenizer);
    options.context = config.model.context;
    options.beam = config.translation.beam;
    options.length_penalty = config.translation.length_penalty;
    options.run = inference_options(config);
    return options;
}

std::unique_ptr<Translator> load_translator(const TextModel& model) {
    auto translator = std::make_unique<Translator>(
        translator_options(model.config, model.vocabulary, *model.tokenizers.target));
    load_weights(view_of(translator->weights()), model.checkpoint.string());
    return translator;
}

TokenIds encode_source(const Tokenizer& tokenizer, std::string_view line, std::int64_t context) {
    const std::size_t most = static_cast<std::size_t>(context) * kMostBytesAToken;
    return tokenizer.encode(line.size() > most ? line.substr(0, utf8_prefix(line, most)) : line);
}

std::string decode_line(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
    std::string text = tokenizer.decode(tokens);
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

}  // namespace mpt
