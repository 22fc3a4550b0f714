#include "config/yaml_tree.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

namespace mpt {
namespace {

constexpr std::size_t kMaxItems = 10000;  // what aliases may expand to

// An unclosed bracket at the top looks like a list used as a key, too.
constexpr const char* kNoWord = "a key must be one word, or a bracket is not closed";

struct YamlFault {
    Place place;
    std::string what;
};

std::size_t num_items(const YamlItem& item) {
    std::size_t count = 1;
    for (const YamlItem& child : item.items) count += num_items(child);
    return count;
}

// Builds the tree from the parser's events, so that duplicate keys and self-references are ours to judge.
class TreeBuilder : public YAML::EventHandler {
  public:
    TreeBuilder(std::string_view text, int source) : text_(text), source_(source) {
        for (std::size_t at = 0; at < text.size(); ++at)
            if (text[at] == '\n') line_starts_.push_back(at + 1);
    }
    YamlItem take_root() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        add(start(YamlItem::Kind::kNull, mark), anchor);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_tag(mark, tag);
        refuse_open_quote(mark);
        YamlItem item = start(YamlItem::Kind::kScalar, mark);
        item.text = value;
        add(std::move(item), anchor);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchored_.find(anchor);
        if (found == anchored_.end()) throw YamlFault{place_of(mark), "an alias refers to itself"};
        num_items_ += num_items(found->second);
        if (num_items_ > kMaxItems)
            throw YamlFault{place_of(mark), "aliases expand to more than 10000 values; write fewer"};
        add(found->second, 0);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse_tag(mark, tag);
        open(YamlItem::Kind::kList, mark, anchor);
    }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse_tag(mark, tag);
        open(YamlItem::Kind::kMap, mark, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapEnd() override { close(); }

  private:
    struct Frame {
        YamlItem item;
        YAML::anchor_t anchor = 0;
        bool has_key = false;
        std::string key;
        Place key_place;
    };

    Place place_of(const YAML::Mark& mark) const { return {source_, mark.line + 1, mark.column + 1}; }
    YamlItem start(YamlItem::Kind kind, const YAML::Mark& mark) const {
        YamlItem item;
        item.kind = kind;
        item.place = place_of(mark);
        return item;
    }
    // "?" is a plain scalar or an untagged collection, "!" a quoted scalar.
    void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
        if (!tag.empty() && tag != "?" && tag != "!")
            throw YamlFault{place_of(mark), "tags (" + quoted(tag) + ") are not supported; remove it"};
    }
    // The parser takes the end of the file for the missing quote, and so swallows all that follows it.
    void refuse_open_quote(const YAML::Mark& mark) const {
        const auto line = static_cast<std::size_t>(mark.line);
        if (mark.is_null() || line >= line_starts_.size()) return;
        std::size_t at = line_starts_[line] + static_cast<std::size_t>(mark.column);
        if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
        const char quote = text_[at++];
        for (; at < text_.size(); ++at) {
            if (quote == '"' && text_[at] == '\\') {
                ++at;
            } else if (text_[at] == quote) {
                if (quote == '"' || at + 1 == text_.size() || text_[at + 1] != quote) return;
                ++at;  // two single quotes stand for one
            }
        }
        throw YamlFault{place_of(mark), "the quote that begins here is not closed; close it"};
    }
    void open(YamlItem::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (expects_key()) throw YamlFault{place_of(mark), kNoWord};
        Frame frame;
        frame.item = start(kind, mark);
        frame.anchor = anchor;
        frames_.push_back(std::move(frame));
    }
    void close() {
        Frame frame = std::move(frames_.back());
        frames_.pop_back();
        add(std::move(frame.item), frame.anchor);
    }
    bool expects_key() const {
        return !frames_.empty() && frames_.back().item.kind == YamlItem::Kind::kMap &&
               !frames_.back().has_key;
    }
    void add(YamlItem item, YAML::anchor_t anchor) {
        if (anchor != 0) anchored_[anchor] = item;
        if (frames_.empty()) {
            root_ = std::move(item);
            return;
        }
        Frame& frame = frames_.back();
        if (expects_key()) {
            if (item.kind != YamlItem::Kind::kScalar) throw YamlFault{item.place, kNoWord};
            frame.has_key = true;
            frame.key = std::move(item.text);
            frame.key_place = item.place;
            return;
        }
        if (frame.item.kind == YamlItem::Kind::kMap) {
            item.key = std::move(frame.key);
            item.key_place = frame.key_place;
            // The parser places a null at whatever follows it.
            if (item.kind == YamlItem::Kind::kNull) item.place = item.key_place;
            frame.has_key = false;
        }
        frame.item.items.push_back(std::move(item));
    }

    std::string_view text_;
    std::vector<std::size_t> line_starts_ = {0};
    int source_;
    YamlItem root_;
    std::vector<Frame> frames_;
    std::map<YAML::anchor_t, YamlItem> anchored_;
    std::size_t num_items_ = 0;
};

// Bytes in the UTF-8 character at `at`, or 0 if it is none (overlong forms and surrogates included).
std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
    if (byte(0) < 0x80) return 1;
    if (byte(0) >= 0xc2 && byte(0) <= 0xdf) return follows(1) ? 2 : 0;
    if (byte(0) >= 0xe0 && byte(0) <= 0xef) {
        const bool overlong = byte(0) == 0xe0 && byte(1) < 0xa0;
        const bool surrogate = byte(0) == 0xed && byte(1) > 0x9f;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (byte(0) >= 0xf0 && byte(0) <= 0xf4) {
        const bool overlong = byte(0) == 0xf0 && byte(1) < 0x90;
        const bool beyond = byte(0) == 0xf4 && byte(1) > 0x8f;
        return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

}  // namespace

void check_text(std::string_view text, int source, Faults& faults) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        faults.add({source, 1, 1}, "", "the file is UTF-16; save it as UTF-8");
        return;
    }
    Place place{source, 1, 1};
    bool in_indentation = true;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            faults.add(place, "", "the text is not valid UTF-8; save the file as UTF-8");
            return;
        }
        if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f) {
            faults.add(place, "", "not a text file (there is a control character here)");
            return;
        }
        if (byte == '\n') {
            ++place.line;
            place.column = 0;
            in_indentation = true;
        } else if (in_indentation && byte == '\t') {
            faults.add(place, "", "tabs are not allowed for indentation; use spaces");
            in_indentation = false;  // one fault a line
        } else if (byte != ' ') {
            in_indentation = false;
        }
        ++place.column;
        at += length;
    }
}

YamlItem parse_yaml(std::string_view text, int source, Faults& faults) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::size_t before = faults.size();
    check_text(text, source, faults);
    if (faults.size() > before) return {};
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        TreeBuilder builder(text, source);
        if (!parser.HandleNextDocument(builder)) return {};
        YamlItem root = builder.take_root();
        TreeBuilder rest(text, source);
        if (parser.HandleNextDocument(rest))
            throw YamlFault{rest.take_root().place,
                            "a second document begins here; a config is one document"};
        return root;
    } catch (const YamlFault& fault) {
        faults.add(fault.place, "", fault.what);
    } catch (const YAML::DeepRecursion& error) {
        faults.add({source, error.mark.line + 1, error.mark.column + 1}, "",
                   "nested too deeply; no key needs that");
    } catch (const YAML::Exception& error) {
        const Place place{source, error.mark.line + 1, error.mark.column + 1};
        faults.add(place, "",
                   "not valid YAML (" + error.msg + "); check indentation, colons and quotes here");
    }
    return {};
}

}  // namespace mpt
