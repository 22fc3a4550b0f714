// Token shards as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpt::test {

inline void append_little(std::string& bytes, std::uint32_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

inline std::string nanogpt_shard(const std::vector<std::int32_t>& tokens) {
    std::string bytes;
    for (const std::int32_t token : tokens) append_little(bytes, static_cast<std::uint32_t>(token), 2);
    return bytes;
}

// The header says `count` tokens, by default as many as there are.
inline std::string llmc_shard(const std::vector<std::int32_t>& tokens, std::int64_t count = -1,
                              std::uint32_t version = 1) {
    std::string bytes;
    append_little(bytes, 20240520, 4);
    append_little(bytes, version, 4);
    append_little(
        bytes, static_cast<std::uint32_t>(count < 0 ? static_cast<std::int64_t>(tokens.size()) : count), 4);
    bytes.resize(1024, '\0');
    return bytes + nanogpt_shard(tokens);
}

}  // namespace mpt::test
