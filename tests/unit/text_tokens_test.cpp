// Token streams and shards. Reference: the files are written here byte by byte, as llm.c and nanoGPT do.
#include <catch2/catch.hpp>
#include <numeric>

#include "core/error.h"
#include "dataset/text/token_stream.h"
#include "support/scratch_folder.h"
#include "support/token_shards.h"

using namespace mpt;
using namespace mpt::test;

namespace {

TokenIds all_of(const TokenStream& stream) {
    TokenIds ids(static_cast<std::size_t>(stream.num_tokens()));
    stream.copy(0, ids);
    return ids;
}

TokenIds counting(TokenId first, std::size_t count) {
    TokenIds ids(count);
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

}  // namespace

TEST_CASE("tokens: shards of both formats are one stream") {
    const ScratchFolder folder;
    write_file(folder / "b.bin", llmc_shard(counting(100, 7)));
    write_file(folder / "a.bin", nanogpt_shard(counting(0, 100)));
    write_file(folder / "c.bin", nanogpt_shard({50256, 65535, 0}));
    write_file(folder / "notes.txt", "x");
    const auto paths = token_shard_paths(folder.path().string());
    REQUIRE(paths.size() == 3);
    const TokenStream stream = open_token_shards(paths, 65536);
    TokenIds expected = counting(0, 107);
    expected.insert(expected.end(), {50256, 65535, 0});
    CHECK(stream.num_tokens() == 110);
    CHECK(all_of(stream) == expected);
    CHECK(stream.memory_bytes() == 0);
    CHECK(token_shard_paths((folder / "a.bin").string()).size() == 1);

    // Every window, over the borders of shards and slices.
    for (std::int64_t first = 0; first < 110; ++first) {
        for (std::int64_t count = 1; first + count <= 110; count += 9) {
            const TokenIds wanted(expected.begin() + first, expected.begin() + first + count);
            TokenIds got(static_cast<std::size_t>(count));
            stream.copy(first, got);
            const TokenStream cut = stream.slice(first, count);
            if (got != wanted || all_of(cut) != wanted) FAIL("tokens " << first << " + " << count);
            if (all_of(cut.slice(count / 2, count - count / 2)) !=
                TokenIds(wanted.begin() + count / 2, wanted.end())) {
                FAIL("slice of a slice at " << first << " + " << count);
            }
        }
    }
}

TEST_CASE("tokens: from encoded text") {
    const TokenStream stream = TokenStream::from_ids(counting(5, 20));
    CHECK(all_of(stream.slice(3, 4)) == TokenIds{8, 9, 10, 11});
    CHECK(stream.slice(20, 0).num_tokens() == 0);
    CHECK(stream.memory_bytes() == 80);
    CHECK_THROWS_AS(stream.slice(0, 21), InternalError);
    TokenIds two(2);
    CHECK_THROWS_AS(stream.copy(19, two), InternalError);
}
