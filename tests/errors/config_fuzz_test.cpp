// Damaged configs: whatever comes in, a config or mpt::Error comes out. Every prefix, and seeded mutations.
#include <catch2/catch.hpp>

#include "core/philox.h"
#include "support/config_text.h"

using namespace mpt;

namespace {

constexpr const char* kText =
    "# a config that uses all of YAML that we read\n"
    "name: \"two words\"\n"
    "train: &t {epochs: 3, batch_size: 64, accumulate: 4, eval_every: 2 epochs}\n"
    "precision:\n"
    "  mode: amp_fp16\n"
    "  overrides:\n"
    "    - {match: 'layer4.*', dtype: f32}\n"
    "  loss_scale: {preset: megatron, floor: none}\n"
    "optimizer:\n"
    "  lr: 1e-4\n"
    "  exclude_from_decay:\n"
    "    - norm\n"
    "    - bias\n"
    "schedule: {type: step, milestones: [1 epoch, 2 epochs]}\n"
    "data:\n"
    "  augment: {normalize: {mean: [0.5], std: [0.25]}}\n"
    "  path: |\n"
    "    /some/where\n";

struct Outcome {
    std::size_t num_read = 0;
    std::size_t num_refused = 0;
};

// A config that is read must survive its echo; a refused one must be exit 2 with full lines that name the
// source.
void feed(const std::string& text, const std::vector<std::string>& overrides, Outcome& outcome) {
    try {
        const ReadConfig read = read_text(text, overrides);
        ++outcome.num_read;
        if (!(read_config_text(read.resolved, "echo", "/").config == read.config))
            FAIL("echo differs for " << text);
    } catch (const Error& error) {
        ++outcome.num_refused;
        if (error.code() != ExitCode::kUsage) FAIL("not exit 2: " << error.what());
        for (const std::string& line : lines_of(error.what()))
            if (!line.starts_with("run.yaml:") && !line.starts_with("--set ")) FAIL("strange line: " << line);
    } catch (const std::exception& error) {
        FAIL("not an Error: " << error.what() << "\nfor: " << text);
    }
}

std::string mutated(RandomStream& random) {
    constexpr std::string_view kPieces[] = {":",         " ",
                                            "\n",        "\t",
                                            "-",         "- ",
                                            "[",         "]",
                                            "{",         "}",
                                            ",",         "&",
                                            "*",         "*t",
                                            "!",         "!!",
                                            "|",         ">",
                                            "'",         "\"",
                                            "%",         "@",
                                            "`",         "#",
                                            "---\n",     "...",
                                            "? ",        "<<: ",
                                            "\\",        "\r",
                                            "\0",        "\xff",
                                            "ä",         "~",
                                            "0",         "-1",
                                            "1e",        "99999999999999999999",
                                            ".nan",      "\xef\xbb\xbf",
                                            "null",      "\\x",
                                            "\"\\u12\"", "  "};
    std::string text = kText;
    const std::uint64_t num_edits = 1 + random.below(4);
    for (std::uint64_t edit = 0; edit < num_edits; ++edit) {
        const std::size_t at = random.below(text.size());
        const std::size_t length = std::min<std::size_t>(1 + random.below(8), text.size() - at);
        const std::string_view piece = kPieces[random.below(std::size(kPieces))];
        switch (random.below(4)) {
            case 0:
                text.erase(at, length);
                break;
            case 1:
                text.insert(at, piece);
                break;
            case 2:
                text.replace(at, length, piece);
                break;
            default:
                text.insert(random.below(text.size()), text.substr(at, 4 * length));
        }
        if (text.empty()) text = " ";
    }
    return text;
}

}  // namespace

TEST_CASE("the text the damage starts from is good") {
    CHECK(fault_of(kText).empty());
}

TEST_CASE("every prefix of a config is read or refused") {
    Outcome outcome;
    const std::string text = kText;
    for (std::size_t length = 0; length <= text.size(); ++length) feed(text.substr(0, length), {}, outcome);
    CHECK(outcome.num_read > 10);
    CHECK(outcome.num_refused > 200);
}

TEST_CASE("mutated configs are read or refused") {
    Outcome outcome;
    for (std::uint64_t i = 0; i < 4000; ++i) {
        RandomStream random(1, RandomPurpose::kSample, i);
        feed(mutated(random), {}, outcome);
    }
    CHECK(outcome.num_read > 100);
    CHECK(outcome.num_refused > 2000);
}

TEST_CASE("mutated --set options are read or refused") {
    constexpr std::string_view kOptions[] = {"train.batch_size=64",
                                             "precision.loss_scale={preset: static, init: 4}",
                                             "data.augment.normalize={mean: [1], std: [2]}",
                                             "name='a b'",
                                             "schedule.milestones=[1 epoch]",
                                             "optimizer.lr=1e-4"};
    Outcome outcome;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        RandomStream random(2, RandomPurpose::kSample, i);
        std::string option(kOptions[random.below(std::size(kOptions))]);
        const std::uint64_t num_edits = random.below(3);
        for (std::uint64_t edit = 0; edit < num_edits; ++edit)
            option[random.below(option.size())] = static_cast<char>(random.below(256));
        feed("seed: 1", {option}, outcome);
    }
    CHECK(outcome.num_read > 100);
    CHECK(outcome.num_refused > 500);
}

TEST_CASE("random bytes are refused") {
    Outcome outcome;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        RandomStream random(3, RandomPurpose::kSample, i);
        std::string bytes(random.below(200), ' ');
        for (char& byte : bytes) byte = static_cast<char>(random.below(256));
        feed(bytes, {}, outcome);
    }
    CHECK(outcome.num_read == 0);
}
