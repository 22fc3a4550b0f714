// Damaged and foreign tokenizer files: one line that names the file.
#include <catch2/catch.hpp>

#include "dataset/text/tokenizer.h"
#include "support/errors.h"
#include "support/gpt2_vocabulary.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;

namespace {

void check_mentions(const std::string& message, const std::vector<std::string>& parts) {
    INFO(message);
    for (const std::string& part : parts) {
        INFO(part);
        CHECK(message.find(part) != std::string::npos);
    }
}

std::string load_failure(const ScratchFolder& folder) {
    return error_of(ExitCode::kData, [&] { load_tokenizer(folder.path().string()); });
}

}  // namespace

TEST_CASE("tokenizer.json: missing, damaged, unknown") {
    const ScratchFolder folder;
    const std::string path = (folder / "tokenizer.json").string();
    check_mentions(load_failure(folder), {path, "no such file"});
    for (const std::string text : {"", "{", "[]", "{}", R"({"kind":3})", "\xff\xfe"}) {
        write_file(path, text);
        check_mentions(load_failure(folder), {path, "no tokenizer of this program"});
    }
    write_file(path, R"({"kind":"words"})");
    check_mentions(load_failure(folder), {path, "\"words\"", "sentencepiece"});
    write_file(path, R"({"kind":"characters","characters":"ab"})");
    check_mentions(load_failure(folder), {path, "unknown"});
    for (const std::string characters : {"ba", "aa", ""}) {
        write_file(path, R"({"kind":"characters","unknown":true,"characters":")" + characters + "\"}");
        check_mentions(load_failure(folder), {path, "ascending"});
    }
}

TEST_CASE("SentencePiece: a file that is no model") {
    const ScratchFolder folder;
    write_file(folder / "tokenizer.json", R"({"kind":"sentencepiece"})");
    check_mentions(load_failure(folder), {(folder / "sentencepiece.model").string(), "no such file"});
    for (const std::string text : {"", "<html>404</html>", "\x0a\xff\xff\xff\xff"}) {
        write_file(folder / "sentencepiece.model", text);
        check_mentions(load_failure(folder),
                       {(folder / "sentencepiece.model").string(), "no SentencePiece model"});
    }
}

TEST_CASE("GPT-2: files that are wrong or do not belong together") {
    const ScratchFolder folder;
    write_gpt2_vocabulary(folder, {"l o", "lo w"});
    const std::string encoder = (folder / "encoder.json").string(), merges = (folder / "vocab.bpe").string();
    const std::string good_encoder = file_text(encoder), good_merges = file_text(merges);
    const auto failure = [&] {
        return error_of(ExitCode::kData, [&] { open_gpt2_tokenizer(encoder, merges); });
    };

    write_file(merges, good_merges + "w e\n");
    check_mentions(failure(), {merges + ":4", "w e", encoder});
    for (const std::string line : {"lo", "lo ", " w", "l o w", "l \xe2\x82\xac"}) {
        write_file(merges, good_merges + line + "\n");
        check_mentions(failure(), {merges + ":4"});
    }
    write_file(merges, "#version: 0.2\n");
    check_mentions(failure(), {merges, "no merges"});
    write_file(merges, good_merges);

    for (const std::string text : {"", "[1]", "{}", "{\"a\": 0"}) {
        write_file(encoder, text);
        check_mentions(failure(), {encoder, "encoder.json"});
    }
    write_file(encoder, R"({"a": 0, "b": 0})");
    check_mentions(failure(), {encoder, "0..1"});
    write_file(encoder, R"({"a": -1})");
    check_mentions(failure(), {encoder, "-1"});
    write_file(encoder, R"({"a": 0, "b": 1})");
    check_mentions(failure(), {encoder, "no token for the byte 0"});
    write_file(encoder, R"({"a b": 0})");
    check_mentions(failure(), {encoder, "\"a b\""});
}

TEST_CASE("GPT-2: merges with CRLF line ends are the same") {
    const ScratchFolder folder;
    const auto tokenizer = write_gpt2_vocabulary(folder, {"l o", "lo w"});
    std::string text;
    for (const char c : file_text(folder / "vocab.bpe")) text += c == '\n' ? "\r\n" : std::string(1, c);
    write_file(folder / "vocab.bpe", text);
    const auto again =
        open_gpt2_tokenizer((folder / "encoder.json").string(), (folder / "vocab.bpe").string());
    CHECK(again->encode("low low") == tokenizer->encode("low low"));
}

TEST_CASE("saving into a folder that is gone") {
    CHECK(error_of(ExitCode::kResource, [] {
              save_tokenizer(*make_byte_tokenizer(), "/nonexistent");
          }).find("/nonexistent/tokenizer.json") != std::string::npos);
}
