// encoder.json and vocab.bpe of a small vocabulary in GPT-2's format: the 256 bytes, the merges,
// <|endoftext|>.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dataset/text/tokenizer.h"
#include "dataset/text/unicode.h"
#include "support/scratch_folder.h"

namespace mpt::test {

// A merge is "left right" in GPT-2's spelling of bytes (blank: U+0120).
inline std::unique_ptr<Tokenizer> write_gpt2_vocabulary(const ScratchFolder& folder,
                                                        const std::vector<std::string>& merges) {
    nlohmann::json encoder = nlohmann::json::object();
    std::uint32_t moved = 256;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        const bool moves = byte <= 0x20 || (byte >= 0x7f && byte <= 0xa0) || byte == 0xad;
        std::string spelling;
        append_utf8(spelling, moves ? moved++ : byte);
        encoder[spelling] = byte;
    }
    std::string text = "#version: 0.2\n";
    for (const std::string& merge : merges) {
        const std::size_t blank = merge.find(' ');
        const std::size_t id = encoder.size();
        encoder[merge.substr(0, blank) + merge.substr(blank + 1)] = id;
        text += merge + "\n";
    }
    const std::size_t end = encoder.size();
    encoder["<|endoftext|>"] = end;
    write_file(folder / "encoder.json", encoder.dump());
    write_file(folder / "vocab.bpe", text);
    return open_gpt2_tokenizer((folder / "encoder.json").string(), (folder / "vocab.bpe").string());
}

}  // namespace mpt::test
