#include "generate/gpt_generator.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "models/gpt/gpt_decode.h"

namespace mpt {
namespace {

constexpr std::int64_t kPiece = 64;

GraphBuild graph_of(const GptConfig& config, std::int64_t tokens) {
    return [config, tokens](GraphBuilder& builder) {
        gpt_decode_graph(builder, {.batch = 1, .tokens = tokens, .capacity = config.context}, config);
    };
}

}  // namespace

GptGenerator::GptGenerator(const GptGeneratorOptions& options)
    : options_(options),
      piece_(std::min(kPiece, options.model.context)),
      weights_({graph_of(options.model, 1)}, options.run) {
    options_.drop = std::clamp<std::int64_t>(options_.drop, 1, options_.model.context);
    read_ = std::make_unique<InferencePlan>(weights_, "read", graph_of(options_.model, piece_));
    step_ = std::make_unique<InferencePlan>(weights_, "step", graph_of(options_.model, 1));
}

std::span<const float> GptGenerator::start(std::span<const TokenId> prompt) {
    MPT_CHECK(!prompt.empty(), "a prompt has at least one token");
    const std::size_t seen = std::min(prompt.size(), static_cast<std::size_t>(options_.model.context));
    window_.assign(prompt.end() - static_cast<std::ptrdiff_t>(seen), prompt.end());
    return read_window();
}

std::span<const float> GptGenerator::next(TokenId token) {
    const auto position = static_cast<std::int64_t>(window_.size());
    window_.push_back(token);
    if (position == options_.model.context) {
        window_.erase(window_.begin(), window_.begin() + options_.drop);
        return read_window();
    }
    step_->input<TokenId>("tokens")[0] = token;
    step_->input<std::int32_t>("position")[0] = static_cast<std::int32_t>(position);
    step_->run();
    return logits_of(*step_, 0);
}

// From position 0 on.
std::span<const float> GptGenerator::read_window() {
    const auto length = static_cast<std::int64_t>(window_.size());
    std::int64_t first = 0;
    for (std::int64_t at = 0; at < length; at += piece_) {
        // The last piece may not reach beyond the context: it reads some tokens again.
        first = std::min(at, options_.model.context - piece_);
        run_piece(first);
    }
    if (length < options_.model.context) move_caches();
    return logits_of(*read_, length - 1 - first);
}

// What stands behind the window's end is read and overwritten later.
void GptGenerator::run_piece(std::int64_t first) {
    const std::span<TokenId> tokens = read_->input<TokenId>("tokens");
    std::ranges::fill(tokens, TokenId{0});
    const auto count = std::min(piece_, static_cast<std::int64_t>(window_.size()) - first);
    std::copy_n(window_.begin() + first, count, tokens.begin());
    read_->input<std::int32_t>("position")[0] = static_cast<std::int32_t>(first);
    read_->run();
}

void GptGenerator::move_caches() {
    const std::size_t count = window_.size() * static_cast<std::size_t>(2 * options_.model.width);
    for (std::int64_t layer = 0; layer < options_.model.depth; ++layer) {
        const std::string name = "cache." + std::to_string(layer);
        std::ranges::copy(read_->input<float>(name).first(count), step_->input<float>(name).begin());
    }
}

std::span<const float> GptGenerator::logits_of(const InferencePlan& plan, std::int64_t row) const {
    const std::span<const float> logits = plan.output<float>("logits");
    const std::size_t rows = plan.executor().input<TokenId>("tokens").size(), padded = logits.size() / rows;
    return logits.subspan(static_cast<std::size_t>(row) * padded,
                          static_cast<std::size_t>(options_.model.vocabulary));
}

}  // namespace mpt
