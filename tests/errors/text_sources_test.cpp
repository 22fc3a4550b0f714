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

TEST_CASE("text: wide encodings and packed files are told apart, with what turns them into text") {
    const ScratchFolder folder;
    const std::string path = (folder / "a.txt").string();
    const auto failure = [&](const std::string& bytes) {
        write_file(path, bytes);
        return error_of(ExitCode::kData, [&] { read_text_file(path); });
    };
    const auto widened = [](int before, int after) {
        std::string bytes;
        for (const char c : std::string("hello, world\n"))
            bytes += std::string(static_cast<std::size_t>(before), '\0') + c +
                     std::string(static_cast<std::size_t>(after), '\0');
        return bytes;
    };
    check_mentions(failure(std::string("\xff\xfe\0\0", 4) + widened(0, 3)),
                   {path, "iconv -f UTF-32 -t UTF-8"});
    check_mentions(failure(std::string("\0\0\xfe\xff", 4) + widened(3, 0)),
                   {path, "iconv -f UTF-32 -t UTF-8"});
    check_mentions(failure("\xff\xfe" + widened(0, 1)), {path, "iconv -f UTF-16 -t UTF-8"});
    check_mentions(failure(widened(0, 1)), {path, "without a byte order mark", "iconv -f UTF-16LE -t UTF-8"});
    check_mentions(failure(widened(1, 0)), {path, "iconv -f UTF-16BE -t UTF-8"});
    check_mentions(failure(widened(0, 3)), {path, "iconv -f UTF-32LE -t UTF-8"});
    check_mentions(failure(std::string("PK\x03\x04 and more")), {path, "is a zip archive", "unpack it"});
    check_mentions(failure(std::string("\xfd"
                                       "7zXZ\0 and more",
                                       15)),
                   {path, "is xz data", "unpack it"});
    check_mentions(failure("BZh91AY&SY and more"), {path, "is bzip2 data", "unpack it"});
    write_file(path, std::string("a\0b, a zero here and there", 26));
    CHECK_NOTHROW(read_text_file(path));
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

TEST_CASE("shards: other formats that would pass for 16-bit tokens are named") {
    const ScratchFolder folder;
    const std::string path = (folder / "a.bin").string();
    const auto failure = [&](const std::string& bytes) {
        write_file(path, bytes);
        return error_of(ExitCode::kData, [&] { open_token_shards({path}, 65536); });
    };
    const std::string rest(1024, 'a');
    check_mentions(failure("\x93NUMPY" + rest), {path, "NumPy", "uint16"});
    check_mentions(failure("PK\x03\x04" + rest), {path, "a zip archive", "unpack it"});
    check_mentions(failure(std::string("\x1f\x8b\x08\0", 4) + rest), {path, "gzip data", "unpack it"});
    std::string llama;
    append_little(llama, 20240801, 4);
    check_mentions(failure(llama + rest), {path, "Llama 3", "32-bit", "uint16"});
    check_mentions(failure(llmc_shard({1}, 1, 7)), {path, "version 7", "write it again"});
    std::string wide, zeros(8192, '\0');
    for (std::uint32_t i = 0; i < 100; ++i) append_little(wide, 7 * i, 4);
    check_mentions(failure(wide), {path, "every second one is 0", "32-bit ids", "uint16"});
    check_mentions(failure(zeros), {path, "all are 0"});
    // Tokens that begin as these do, and rows with many zeros.
    for (const std::string& tokens :
         {nanogpt_shard({0x8b1f, 5, 6, 7, 8}), wide + nanogpt_shard({0, 1}) + zeros, wide.substr(0, 60)}) {
        write_file(path, tokens);
        CHECK_NOTHROW(open_token_shards({path}, 65536));
    }
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
