// A long row of tokens: encoded text, or token shards on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataset/text/tokenizer.h"

namespace mpt {

class MappedFile;

// Cheap to copy and to slice: the tokens themselves are shared.
class TokenStream {
  public:
    static TokenStream from_ids(TokenIds ids);

    std::int64_t num_tokens() const { return num_tokens_; }
    // Tokens first, first + 1, ...; they must exist. Safe from many threads.
    void copy(std::int64_t first, std::span<TokenId> out) const;
    TokenStream slice(std::int64_t first, std::int64_t count) const;
    // Resident for as long as the stream lives; mapped shards are the system's to keep or drop.
    std::int64_t memory_bytes() const;
    // Of every token that was encoded, of the number and of samples of those in shards; never 0.
    std::uint64_t fingerprint() const;

  private:
    friend TokenStream open_token_shards(const std::vector<std::string>&, std::int32_t);

    // Tokens [start, start + count) of the stream; one of the two is set.
    struct Part {
        std::int64_t start = 0, count = 0;
        std::shared_ptr<const TokenIds> ids;
        std::shared_ptr<const MappedFile> shard;
        std::int64_t offset = 0;  // of the first token in ids or shard
    };

    std::vector<Part> parts_;
    std::int64_t num_tokens_ = 0;
};

// Files of 16-bit tokens, joined in the order given: llm.c's (a header of 256 little-endian 32-bit integers
// with magic 20240520, version 1 and the number of tokens) or nanoGPT's (nothing but tokens), told apart by
// the magic. Throws Error(kData) naming the file for a wrong version or size, and for the first token >=
// vocabulary_size.
TokenStream open_token_shards(const std::vector<std::string>& paths, std::int32_t vocabulary_size);
// The .bin files of a folder by name, or the file itself.
std::vector<std::string> token_shard_paths(const std::string& path);

}  // namespace mpt
