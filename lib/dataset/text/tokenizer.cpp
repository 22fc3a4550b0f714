#include "dataset/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/available_memory.h"
#include "core/error.h"
#include "dataset/data_file.h"
#include "dataset/text/tokenizer_makers.h"

namespace mpt {

void Tokenizer::check_id(TokenId id) const {
    if (id < 0 || id >= vocabulary_size()) {
        throw Error(ExitCode::kData, "token " + std::to_string(id) + " is not in the " + kind() +
                                         " vocabulary of " + std::to_string(vocabulary_size()) +
                                         "; was the text encoded by another tokenizer?");
    }
}

namespace {

// Before it is allocated: a system that has no more ends the process without a word.
void reserve(std::string& bytes, std::size_t wanted, const DataFile& file) {
    const AvailableMemory memory = available_memory();
    if (wanted > static_cast<std::size_t>(memory.bytes))
        throw Error(ExitCode::kResource,
                    file.path() + (file.is_gzip() ? ": unpacking it takes " : ": takes ") +
                        print_bytes(static_cast<std::int64_t>(wanted)) + (file.is_gzip() ? " or more" : "") +
                        ", there is " + print(memory) +
                        "; take a smaller file, or write its tokens into shards (data.type: tokens), which "
                        "are not read as a whole");
    bytes.reserve(wanted);
}

}  // namespace

std::string file_bytes(const std::string& path) {
    DataFile file(path);
    std::string bytes;
    if (!file.is_gzip()) reserve(bytes, file.unpacked_size(), file);
    std::vector<std::uint8_t> chunk(1 << 18);
    for (std::size_t got = file.read(chunk); got != 0; got = file.read(chunk)) {
        if (bytes.size() + got > bytes.capacity())
            reserve(bytes, std::max(2 * bytes.capacity(), bytes.size() + got), file);
        bytes.append(reinterpret_cast<const char*>(chunk.data()), got);
    }
    file.expect_end();
    return bytes;
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder) {
    for (const TokenizerFile& file : tokenizer.files()) {
        const std::string path = (std::filesystem::path(folder) / file.name).string();
        std::ofstream out(path, std::ios::binary | std::ios::trunc);
        out.write(file.bytes.data(), static_cast<std::streamsize>(file.bytes.size()));
        if (!out.flush()) {
            throw Error(ExitCode::kResource,
                        path + ": cannot be written; is the disk full or the folder gone?");
        }
    }
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
    const auto path_of = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
    const std::string path = path_of(kTokenizerFileName);
    const auto description = nlohmann::json::parse(file_bytes(path), nullptr, false);
    if (!description.is_object() || !description.contains("kind") || !description["kind"].is_string()) {
        throw Error(ExitCode::kData, path + ": is no tokenizer of this program (an object with \"kind\")");
    }
    const std::string kind = description["kind"];
    if (kind == "bytes") return make_byte_tokenizer();
    if (kind == "characters") return character_tokenizer_from(description, path);
    if (kind == "gpt2") return open_gpt2_tokenizer(path_of(kGpt2EncoderName), path_of(kGpt2MergesName));
    if (kind == "sentencepiece") return open_sentencepiece_tokenizer(path_of(kSentencePieceName));
    throw Error(ExitCode::kData, path + ": kind \"" + kind +
                                     "\" is unknown; known are bytes, characters, gpt2, sentencepiece");
}

}  // namespace mpt
