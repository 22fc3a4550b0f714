// mpt-train data on text: what it counts, shows and measures, and every fault it names.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/process.h"
#include "support/small_text_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

Finished call(const ScratchFolder& folder, std::vector<std::string> words) {
    words.insert(words.begin(), {"data", "--config", (folder / "c.yaml").string()});
    return Process(folder.path(), words).wait();
}

void write_gpt(const ScratchFolder& folder, const std::string& data) {
    write_file(folder / "c.yaml",
               "model: {type: gpt, depth: 1, width: 16, heads: 2, context: 4}\n"
               "data: {" +
                   data +
                   "}\n"
                   "train: {batch_size: 2, steps: 3}\n");
}

void write_pairs(const ScratchFolder& folder, const std::string& data) {
    write_file(folder / "c.yaml",
               "model: {type: transformer, depth: 1, width: 16, heads: 2, context: 64}\n"
               "data: {type: parallel, sentencepiece_size: 60, " +
                   data +
                   "}\n"
                   "train: {batch_tokens: 256, steps: 3}\n");
}

}  // namespace

TEST_CASE("data: a text is counted, its windows are shown as tokens and text") {
    const ScratchFolder folder;
    write_file(folder / "text", "ab\n\nba\nabab\nbbb\n");  // 16 characters of three kinds
    write_gpt(folder, "type: text, path: text, validation_fraction: 0.5");
    const Finished plain = call(folder, {"--check"});
    CHECK(plain.exit_code == 0);
    CHECK(plain.err.empty());
    CHECK_THAT(plain.out, Catch::Contains("8 training and 8 validation tokens, characters vocabulary of 3"));
    CHECK_THAT(plain.out,
               Catch::Contains("training part: 4 lines (1 empty), 8 characters, 8 bytes, 8 tokens"));
    CHECK_THAT(plain.out, Catch::Contains("an epoch: 1 updates of 2 windows of 4 tokens"));
    CHECK_THAT(plain.out, Catch::EndsWith("0 faults\n"));
    // Line feed, a and b are 0, 1 and 2.
    const Finished shown = call(folder, {"--show", "3"});
    CHECK(shown.exit_code == 0);
    CHECK_THAT(shown.out, Catch::Contains("sample 3\n") && !Catch::Contains("sample 4"));
    const std::size_t at = shown.out.find("after it, 5 tokens: ");
    REQUIRE(at != std::string::npos);
    std::istringstream ids(shown.out.substr(at + 20));
    std::string text;
    for (int i = 0, id = 0; i < 5 && ids >> id; ++i) text += id == 0 ? "\\n" : id == 1 ? "a" : "b";
    CHECK_THAT(shown.out, Catch::Contains("after it, text: '" + text + "'"));
    const Finished measured = call(folder, {"--bench", "--seconds", "0.1"});
    CHECK(measured.exit_code == 0);
    CHECK_THAT(measured.out, Catch::Contains("tokens/s"));
}

TEST_CASE("data: pairs are shown without padding, and what is left out is counted") {
    const ScratchFolder folder;
    std::string pairs = small_pairs(60);
    std::string endless;
    for (int i = 0; i < 40; ++i) endless += "the cat ";
    write_file(folder / "pairs", pairs + "\tempty\n" + endless + "\tlong\n");
    write_file(folder / "val", small_pairs(5));
    write_pairs(folder, "path: pairs, validation_path: val, max_tokens: 40");
    const Finished finished = call(folder, {"--check", "--show", "2"});
    CAPTURE(finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out,
               Catch::Contains("1 of 62 pairs have an empty side and are left out, the first on "
                               "line 61"));
    CHECK_THAT(finished.out, Catch::Contains("training pairs: read 62 pairs: ") &&
                                 Catch::Contains("validation pairs: read 5 pairs: "));
    CHECK_THAT(finished.out, Catch::Contains("sample 2\n  source, ") && Catch::Contains("  target, text: '"));
    CHECK_THAT(finished.out, !Catch::Contains("-1"));  // no ignored target among the tokens
}

TEST_CASE("data --check names every fault of text, and is exit 3") {
    const ScratchFolder folder;
    const auto faults = [&](const std::vector<std::string>& parts) {
        const Finished finished = call(folder, {"--check"});
        CAPTURE(finished.out);
        CHECK(finished.exit_code == 3);
        CHECK(std::ranges::count(finished.err, '\n') == 1);
        CHECK_THAT(finished.err, Catch::Contains(std::to_string(parts.size()) + " faults"));
        for (const std::string& part : parts) CHECK_THAT(finished.out, Catch::Contains(part));
    };
    write_file(folder / "a", "ab\xff");
    write_gpt(folder, "type: text, path: a, validation_path: b");
    faults({"/a: not UTF-8 at byte offset 2", "/b: no such file"});
    write_file(folder / "one.bin", {'\1', '\0', '\7', '\0'});
    fs::create_directories(folder / "shards");
    fs::copy(folder / "one.bin", folder / "shards" / "1.bin");
    write_file(folder / "shards" / "2.bin", "abc");
    write_gpt(folder, "type: tokens, path: shards, validation_path: one.bin");
    write_file(folder / "c.yaml", file_text(folder / "c.yaml") + "seed: 2\n");
    Finished shards = call(folder, {"--check", "--set", "model.vocabulary_size=5"});
    CHECK(shards.exit_code == 3);
    CHECK_THAT(shards.out, Catch::Contains("1.bin: token 7 at position 1") &&
                               Catch::Contains("2.bin: its size") && Catch::Contains("one.bin: token 7"));
    write_file(folder / "pairs", "a\tb\nc\nd\te\tf\n");
    write_pairs(folder, "path: pairs");
    faults({"/pairs:2: 1 field(s)", "/pairs:3: 3 field(s)"});
    write_file(folder / "x", "a\nb\n");
    write_file(folder / "y", "a\n");
    write_pairs(folder,
                "source_path: x, target_path: y, validation_source_path: z, validation_target_path: a");
    faults({"x has 2 lines, but", "/z: no such file", "/a: not UTF-8"});
}

TEST_CASE("data: options for pictures are refused on text by name, as are those that do nothing") {
    const ScratchFolder folder;
    write_file(folder / "text", small_text(50));
    write_gpt(folder, "type: text, path: text");
    const auto refused = [&](const std::vector<std::string>& words, const std::string& part) {
        const Finished finished = call(folder, words);
        CHECK(finished.exit_code == 2);
        CHECK_THAT(finished.err, Catch::StartsWith("mpt-train: " + part));
    };
    refused({"--show", "1", "--out", "x"}, "--out: is for pictures");
    refused({"--seconds", "1"}, "--seconds: ");
    CHECK_FALSE(fs::exists(folder / "x"));
}

TEST_CASE("data --check: text that is not there is a fault, although training would make some up") {
    const ScratchFolder folder;
    const auto refused = [&](const std::string& line) {
        const Finished finished = call(folder, {"--check"});
        CAPTURE(finished.out);
        CHECK(finished.exit_code == 3);
        CHECK_THAT(
            finished.out,
            Catch::Contains(line + "; training would run on random tokens (data.if_missing: synthetic)"));
        CHECK_THAT(finished.err, Catch::Contains("1 faults in the text data"));
    };
    write_gpt(folder, "type: tokens, path: nowhere, if_missing: synthetic, num_samples: 8");
    refused("/nowhere: there is no such file");
    CHECK(call(folder, {}).exit_code == 0);
    write_pairs(folder, "if_missing: synthetic");
    refused("data.path is not set");
    write_gpt(folder, "type: synthetic, num_samples: 8");
    const Finished synthetic = call(folder, {"--check", "--set", "data.train_limit=4"});
    CHECK(synthetic.exit_code == 0);
    CHECK_THAT(synthetic.out, Catch::Contains("nothing to check: there are no files"));
}
