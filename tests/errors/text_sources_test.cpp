// Bad text, pairs and shards: one line that names the file, the place and the remedy.
#include <catch2/catch.hpp>

#include "dataset/text/parallel_text.h"
#include "dataset/text/text_file.h"
#include "dataset/text/token_stream.h"
#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/scratch_folder.h"
#include "support/token_shards.h"

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

}  // namespace

TEST_CASE("text: what is not UTF-8 is named by file, byte offset in the file and line") {
    const ScratchFolder folder;
    const std::string path = (folder / "a.txt").string();
    const auto failure = [&](const std::string& bytes) {
        write_file(path, bytes);
        return error_of(ExitCode::kData, [&] { read_text_file(path); });
    };
    check_mentions(failure("\xef\xbb\xbf"
                           "eins\r\nzw\xe4lf\r\n"),
                   {path, "byte offset 11 ", "0xe4", "line 2", "iconv"});
    check_mentions(failure("abc\xe2\x82"), {path, "byte offset 3 ", "0xe2"});
    check_mentions(failure(std::string("\xff\xfe"
                                       "a\0",
                                       4)),
                   {path, "byte offset 0 ", "UTF-16"});
    check_mentions(failure(""), {path, "no text"});
    check_mentions(failure("\xef\xbb\xbf"), {path, "no text"});
    check_mentions(error_of(ExitCode::kData, [&] { read_text_file(path + "x"); }),
                   {path + "x", "no such file"});
    check_mentions(error_of(ExitCode::kData, [&] { read_text_file(folder.path().string()); }),
                   {"not a regular file"});
}

TEST_CASE("text: damaged gzip") {
    const DataFolder folder;
    const std::string text(5000, 'a');
    Bytes packed = gzip(Bytes(text.begin(), text.end()));
    packed[packed.size() - 6] ^= 1;  // within the checksum
    folder.write("a.gz", packed);
    check_mentions(error_of(ExitCode::kData, [&] { read_text_file(folder.file("a.gz")); }),
                   {folder.file("a.gz"), "checksum"});
}

TEST_CASE("pairs: 100 lines and 99") {
    const ScratchFolder folder;
    const std::string source = (folder / "a.de").string(), target = (folder / "a.en").string();
    std::string lines;
    for (int i = 0; i < 99; ++i) lines += "line\n";
    write_file(source, lines + "one more");
    write_file(target, lines);
    check_mentions(error_of(ExitCode::kData, [&] { ParallelText::from_files(source, target); }),
                   {source + " has 100 lines", target + " has 99"});
}

TEST_CASE("pairs: a line without a tab, or with two") {
    const ScratchFolder folder;
    const std::string path = (folder / "a.tsv").string();
    write_file(path, "a\tb\nc\n");
    check_mentions(error_of(ExitCode::kData, [&] { ParallelText::from_tsv(path); }),
                   {path + ":2", "1 field"});
    write_file(path, "a\tb\tc\n");
    check_mentions(error_of(ExitCode::kData, [&] { ParallelText::from_tsv(path); }),
                   {path + ":1", "3 field"});
}

TEST_CASE("pairs: nothing is left") {
    const std::vector<ParallelText::Pair> pairs = {{"too long", "x"}, {"", ""}};
    const auto bytes = make_byte_tokenizer();
    const LengthLimit limit{.max_tokens = 3, .long_lines = LongLines::kSkip};
    check_mentions(
        error_of(ExitCode::kData, [&] { encode_pairs(pairs, *bytes, *bytes, limit, "a.de and a.en"); }),
        {"a.de and a.en", "read 2 pairs: 0 kept", "1 skipped", "1 as empty", "raise data.max_tokens"});
    check_mentions(error_of(ExitCode::kData,
                            [&] { encode_pairs(std::span(pairs).last(1), *bytes, *bytes, limit, "a"); }),
                   {"a: no pair is left", "a side of each is empty"});
}

TEST_CASE("shards: wrong sizes, versions and tokens") {
    const ScratchFolder folder;
    const std::string path = (folder / "a.bin").string();
    const auto failure = [&](const std::string& bytes) {
        write_file(path, bytes);
        return error_of(ExitCode::kData, [&] { open_token_shards({path}, 1000); });
    };
    check_mentions(failure(""), {path, "0 tokens"});
    check_mentions(failure("abc"), {path, "3 bytes is odd"});
    check_mentions(failure(llmc_shard({1, 2, 3}, 4)), {path, "4 tokens (1032 bytes)", "has 1030 bytes"});
    check_mentions(failure(llmc_shard({1, 2, 3}, 2)), {path, "2 tokens"});
    check_mentions(failure(llmc_shard({1, 2, 3}, 0xffffffff)), {path, "-1 tokens"});
    check_mentions(failure(llmc_shard({}, 0)), {path, "0 tokens"});
    check_mentions(failure(llmc_shard({1}, 1, 7)), {path, "version 7"});
    check_mentions(failure(llmc_shard({1}).substr(0, 1000)), {path, "1024 bytes", "has 1000"});
    check_mentions(failure(llmc_shard({1, 999, 1000, 2000})), {path, "token 1000 at position 2", "0..999"});
    check_mentions(failure(nanogpt_shard({5, 65535})), {path, "token 65535 at position 1"});
    check_mentions(error_of(ExitCode::kData, [&] { open_token_shards({path + "x"}, 10); }),
                   {path + "x", "no such file"});
    const ScratchFolder empty;
    check_mentions(error_of(ExitCode::kData, [&] { token_shard_paths(empty.path().string()); }),
                   {empty.path().string(), "*.bin"});
}
