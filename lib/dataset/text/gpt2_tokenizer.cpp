// GPT-2's byte-level BPE. Every byte is written as a printable character in the files; tokens are kept as
// bytes here. Source of the rules: OpenAI's encoder.py (openai/gpt-2).
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "dataset/text/gpt2_pieces.h"
#include "dataset/text/tokenizer.h"
#include "dataset/text/tokenizer_makers.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

// Bytes that print stand for themselves, the others for U+0100, U+0101, ... in their order.
std::array<std::uint32_t, 256> code_points_of_bytes() {
    std::array<std::uint32_t, 256> table{};
    std::uint32_t next = 256;
    for (std::uint32_t b = 0; b < 256; ++b) {
        const bool prints = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        table[b] = prints ? b : next++;
    }
    return table;
}

struct Merge {
    std::uint32_t rank;
    TokenId token;
};

std::uint64_t pair_key(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
}

struct Gpt2Vocabulary {
    std::vector<std::string> tokens;  // the bytes of each id
    std::array<TokenId, 256> of_byte{};
    std::unordered_map<std::uint64_t, Merge> merges;
    TokenId end_of_text = -1;
};

// Merges the bytes of one piece, lowest rank first and of equal ranks the leftmost. A heap, so that a piece
// of millions of bytes takes n log n. A merged token is always younger than its parts, so taking one pair at
// a time gives what merging all equal pairs at once gives.
class PieceMerger {
  public:
    explicit PieceMerger(const Gpt2Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

    void append_tokens(std::string_view piece, TokenIds& ids) {
        symbols_.resize(piece.size());
        for (std::size_t i = 0; i < piece.size(); ++i) {
            symbols_[i] = {vocabulary_.of_byte[static_cast<std::uint8_t>(piece[i])],
                           static_cast<std::int32_t>(i) - 1, static_cast<std::int32_t>(i) + 1};
        }
        for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) propose(static_cast<std::int32_t>(i));
        while (!heap_.empty()) {
            const Candidate best = heap_.top();
            heap_.pop();
            join(best);
        }
        for (std::int32_t i = 0; i < size(); i = at(i).next) ids.push_back(at(i).token);
    }

  private:
    struct Symbol {
        TokenId token;  // -1: swallowed by the one before
        std::int32_t previous, next;
    };
    struct Candidate {
        std::uint32_t rank;
        std::int32_t place;
        TokenId left, right;  // what was there when it was proposed
        bool operator>(const Candidate& other) const {
            return rank != other.rank ? rank > other.rank : place > other.place;
        }
    };

    Symbol& at(std::int32_t i) { return symbols_[static_cast<std::size_t>(i)]; }
    std::int32_t size() const { return static_cast<std::int32_t>(symbols_.size()); }

    void propose(std::int32_t place) {
        const TokenId left = at(place).token, right = at(at(place).next).token;
        const auto merge = vocabulary_.merges.find(pair_key(left, right));
        if (merge != vocabulary_.merges.end()) heap_.push({merge->second.rank, place, left, right});
    }

    void join(const Candidate& pair) {
        Symbol& left = at(pair.place);
        if (left.token != pair.left || left.next >= size() || at(left.next).token != pair.right) return;
        Symbol& right = at(left.next);
        left.token = vocabulary_.merges.at(pair_key(pair.left, pair.right)).token;
        right.token = -1;
        left.next = right.next;
        if (left.next < size()) {
            at(left.next).previous = pair.place;
            propose(pair.place);
        }
        if (left.previous >= 0) propose(left.previous);
    }

    const Gpt2Vocabulary& vocabulary_;
    std::vector<Symbol> symbols_;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

class Gpt2Tokenizer final : public Tokenizer {
  public:
    Gpt2Tokenizer(Gpt2Vocabulary vocabulary, std::string encoder, std::string merges)
        : vocabulary_(std::move(vocabulary)), encoder_(std::move(encoder)), merges_(std::move(merges)) {}

    std::string kind() const override { return "gpt2"; }
    std::int32_t vocabulary_size() const override {
        return static_cast<std::int32_t>(vocabulary_.tokens.size());
    }
    SpecialTokens special() const override {
        return {.begin = vocabulary_.end_of_text, .end = vocabulary_.end_of_text};
    }

    TokenIds encode(std::string_view text) const override {
        check_utf8(text);
        TokenIds ids;
        ids.reserve(text.size() / 3);
        PieceMerger merger(vocabulary_);
        // Words repeat; pieces this short are worth remembering for the length of a call.
        std::unordered_map<std::string_view, TokenIds> known;
        for (std::size_t at = 0; at < text.size();) {
            const std::string_view rest = text.substr(at);
            const std::string_view piece = rest.substr(0, gpt2_piece_length(rest));
            at += piece.size();
            if (piece.size() > 32) {
                merger.append_tokens(piece, ids);
                continue;
            }
            const auto [entry, is_new] = known.try_emplace(piece);
            if (is_new) merger.append_tokens(piece, entry->second);
            ids.insert(ids.end(), entry->second.begin(), entry->second.end());
        }
        return ids;
    }

    std::string decode(std::span<const TokenId> ids) const override {
        std::string text;
        for (const TokenId id : ids) {
            check_id(id);
            if (id != vocabulary_.end_of_text) text += vocabulary_.tokens[static_cast<std::size_t>(id)];
        }
        return text;
    }

    std::vector<TokenizerFile> files() const override {
        return {{kTokenizerFileName, nlohmann::json{{"kind", kind()}}.dump() + "\n"},
                {kGpt2EncoderName, encoder_},
                {kGpt2MergesName, merges_}};
    }

  private:
    Gpt2Vocabulary vocabulary_;
    std::string encoder_, merges_;  // the files as they were read
};

// Reads the vocabulary from the two files.
class Gpt2Reader {
  public:
    Gpt2Reader(std::string encoder_path, std::string merges_path)
        : encoder_path_(std::move(encoder_path)), merges_path_(std::move(merges_path)) {
        const auto characters = code_points_of_bytes();
        for (std::uint32_t b = 0; b < 256; ++b) byte_of_[characters[b]] = static_cast<char>(b);
    }

    Gpt2Vocabulary read(const std::string& encoder, const std::string& merges) {
        read_encoder(encoder);
        read_merges(merges);
        return std::move(vocabulary_);
    }

  private:
    [[noreturn]] void fail_encoder(const std::string& what) const {
        throw Error(ExitCode::kData, encoder_path_ + ": " + what + "; it should be GPT-2's encoder.json");
    }

    // The bytes behind the printable spelling of a token; empty where it is not one.
    std::string bytes_of(std::string_view spelling) const {
        std::string bytes;
        for (std::size_t at = 0; at < spelling.size();) {
            const std::uint32_t c = decode_utf8(spelling, at);
            const auto byte = byte_of_.find(c);
            if (c == kInvalidUtf8 || byte == byte_of_.end()) return "";
            bytes.push_back(byte->second);
        }
        return bytes;
    }

    void read_encoder(const std::string& text) {
        const auto json = nlohmann::json::parse(text, nullptr, false);
        if (!json.is_object() || json.empty()) fail_encoder("is not an object of tokens and ids");
        const std::size_t count = json.size();
        vocabulary_.tokens.resize(count);
        std::vector<bool> used(count);
        for (const auto& [spelling, id] : json.items()) {
            if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= count || used[id.get<std::size_t>()]) {
                fail_encoder("token \"" + spelling + "\" has the id " + id.dump() + ", expected are 0.." +
                             std::to_string(count - 1) + " once each");
            }
            used[id.get<std::size_t>()] = true;
            if (spelling == kEndOfText) {
                vocabulary_.end_of_text = id;
                continue;
            }
            std::string bytes = bytes_of(spelling);
            if (bytes.empty())
                fail_encoder("token \"" + spelling + "\" is not spelt in GPT-2's byte characters");
            ids_[bytes] = id;
            vocabulary_.tokens[id.get<std::size_t>()] = std::move(bytes);
        }
        for (std::uint32_t b = 0; b < 256; ++b) {
            const auto found = ids_.find(std::string(1, static_cast<char>(b)));
            if (found == ids_.end()) fail_encoder("no token for the byte " + std::to_string(b));
            vocabulary_.of_byte[b] = found->second;
        }
    }

    void read_merges(std::string_view text) {
        std::uint32_t rank = 0;
        std::int64_t line_number = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            std::string_view line = text.substr(at, end - at);
            at = end + 1;
            ++line_number;
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
            add_merge(line, line_number, rank++);
        }
        if (rank == 0)
            throw Error(ExitCode::kData, merges_path_ + ": no merges; it should be GPT-2's vocab.bpe");
    }

    void add_merge(std::string_view line, std::int64_t line_number, std::uint32_t rank) {
        const std::size_t space = line.find(' ');
        const std::string left = bytes_of(line.substr(0, space));
        const std::string right = space == std::string_view::npos ? "" : bytes_of(line.substr(space + 1));
        const auto id_of = [&](const std::string& bytes) {
            const auto found = ids_.find(bytes);
            return found == ids_.end() ? -1 : found->second;
        };
        const TokenId l = id_of(left), r = id_of(right), joined = id_of(left + right);
        if (left.empty() || right.empty() || l < 0 || r < 0 || joined < 0) {
            throw Error(ExitCode::kData, merges_path_ + ":" + std::to_string(line_number) + ": \"" +
                                             std::string(line) + "\" is no merge of two tokens of " +
                                             encoder_path_ + "; the two files must belong together");
        }
        vocabulary_.merges.try_emplace(pair_key(l, r), Merge{rank, joined});
    }

    std::string encoder_path_, merges_path_;
    std::unordered_map<std::uint32_t, char> byte_of_;
    std::unordered_map<std::string, TokenId> ids_;
    Gpt2Vocabulary vocabulary_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_gpt2_tokenizer(const std::string& encoder_path,
                                               const std::string& merges_path) {
    std::string encoder = file_bytes(encoder_path), merges = file_bytes(merges_path);
    Gpt2Vocabulary vocabulary = Gpt2Reader(encoder_path, merges_path).read(encoder, merges);
    return std::make_unique<Gpt2Tokenizer>(std::move(vocabulary), std::move(encoder), std::move(merges));
}

}  // namespace mpt
