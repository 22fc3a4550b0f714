// Tokens a second of a GPT with weights that mean nothing, by the processor's time as well.
//   generate_bench [DEPTH WIDTH HEADS VOCABULARY CONTEXT] [TOKENS] [THREADS] [DROP]
#include <fmt/core.h>

#include <chrono>
#include <ctime>
#include <string>

#include "generate/gpt_generator.h"

using namespace mpt;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_time() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
    const auto word = [&](int index, std::int64_t usual) {
        return argc > index ? std::stoll(argv[index]) : usual;
    };
    GptGeneratorOptions options;
    options.model.depth = word(1, 12);
    options.model.width = word(2, 768);
    options.model.heads = word(3, 12);
    options.model.vocabulary = word(4, 50257);
    options.model.context = word(5, 256);
    const std::int64_t tokens = word(6, 64);
    options.run.num_threads = static_cast<int>(word(7, 1));
    options.drop = word(8, 1);

    GptGenerator generator(options);
    const TokenIds prompt(64, 1);
    double begin = now(), used = processor_time();
    generator.start(prompt);
    fmt::print("prompt of 64: {:.1f} ms, {:.1f} ms of processor\n", 1000 * (now() - begin),
               1000 * (processor_time() - used));
    begin = now();
    used = processor_time();
    for (std::int64_t i = 0; i < tokens; ++i) generator.next(1);
    const double count = static_cast<double>(tokens);
    fmt::print("{} tokens: {:.1f} tokens/s, {:.2f} ms of processor each\n", tokens, count / (now() - begin),
               1000 * (processor_time() - used) / count);
    return 0;
}
