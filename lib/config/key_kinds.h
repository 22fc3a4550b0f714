// The kinds of value a key can take: each makes a row of the table from the key's path, a way to its member
// of RunConfig, and its range.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/key.h"
#include "config/numbers.h"
#include "config/suggest.h"
#include "config/words.h"

namespace mpt {

struct WholeRange {
    std::int64_t min;
    std::int64_t max;
    std::string_view unset_word = {};  // the word that leaves an optional member unset
    std::string_view zero_word = {};   // the word for 0
};
struct RealRange {
    double min;
    double max;
    bool above_min = false;  // min itself is out of range
    bool below_max = false;  // max itself is out of range
    std::string_view unset_word = {};
    std::string_view zero_word = {};
};
struct DurationRange {
    std::string_view unset_word = {};
    std::string_view zero_word = {};
};

std::string describe(const WholeRange& range);
std::string describe(const RealRange& range);
std::string describe(const DurationRange& range);

// Each parses into `value` and returns what is wrong with the text, "" if nothing.
std::string parse_in(const WholeRange& range, std::string_view text, std::int64_t& value);
std::string parse_in(const RealRange& range, std::string_view text, double& value);
std::string parse_in(const DurationRange& range, std::string_view text, Duration& value);
std::string parse_switch(std::string_view text, bool& value);
std::string parse_bytes(std::string_view text, std::int64_t& value);
std::string parse_device(std::string_view text, std::string& value);
std::string parse_run_name(std::string_view text, std::string& value);

std::string print_value(std::int64_t value);
std::string print_value(double value);
std::string print_value(const Duration& value);
// A YAML scalar that reads back to the same text.
std::string print_text(std::string_view text);
std::string print_list(const std::vector<std::string>& printed);

// The scalar's text, or a fault that says what was found instead.
std::optional<std::string> scalar_of(const Key& key, const Setting& setting);
void refuse(const Key& key, const Setting& setting, const Place& place, const std::string& what);

// Fits a parse function to any scalar key.
template <class Parse>
void set_scalar(const Key& key, const Setting& setting, Parse&& parse) {
    const std::optional<std::string> text = scalar_of(key, setting);
    if (!text) return;
    const std::string what = parse(*text);
    if (!what.empty()) refuse(key, setting, setting.item.place, what);
}

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

// Members may be plain or optional, and of any integer type for whole numbers.
template <class Value, class Range, class Member>
Key ranged_key(std::string path, Member member, Range range, std::string meaning) {
    Key key{std::move(path), describe(range), std::move(meaning), {}, {}};
    using Stored = std::remove_cvref_t<decltype(member(std::declval<RunConfig&>()))>;
    key.set = [member, range](const Key& self, const Setting& setting, RunConfig& config) {
        set_scalar(self, setting, [&](const std::string& text) -> std::string {
            Stored& stored = member(config);
            if constexpr (kIsOptional<Stored>) {
                if (!range.unset_word.empty() && text == range.unset_word) {
                    stored.reset();
                    return "";
                }
            }
            Value value{};
            if (range.zero_word.empty() || text != range.zero_word) {
                const std::string what = parse_in(range, text, value);
                if (!what.empty()) return what;
            }
            if constexpr (std::is_unsigned_v<Stored>) {
                stored = static_cast<Stored>(value);
            } else {
                stored = value;
            }
            return "";
        });
    };
    key.print = [member, range](const RunConfig& config) -> std::string {
        const Stored& stored = member(config);
        Value value{};
        if constexpr (kIsOptional<Stored>) {
            if (!stored) return std::string(range.unset_word);
            value = *stored;
        } else {
            value = static_cast<Value>(stored);
        }
        if (!range.zero_word.empty() && value == Value{}) return std::string(range.zero_word);
        return print_value(value);
    };
    return key;
}

template <class Member>
Key whole(std::string path, Member member, WholeRange range, std::string meaning) {
    return ranged_key<std::int64_t>(std::move(path), member, range, std::move(meaning));
}
template <class Member>
Key real(std::string path, Member member, RealRange range, std::string meaning) {
    return ranged_key<double>(std::move(path), member, range, std::move(meaning));
}
template <class Member>
Key duration(std::string path, Member member, DurationRange range, std::string meaning) {
    return ranged_key<Duration>(std::move(path), member, range, std::move(meaning));
}

template <class Member>
Key on_off(std::string path, Member member, std::string meaning) {
    Key key{std::move(path), "true or false", std::move(meaning), {}, {}};
    key.set = [member](const Key& self, const Setting& setting, RunConfig& config) {
        set_scalar(self, setting,
                   [&](const std::string& text) { return parse_switch(text, member(config)); });
    };
    key.print = [member](const RunConfig& config) { return std::string(member(config) ? "true" : "false"); };
    return key;
}

// Text checked by `parse`; the member is a string.
template <class Member, class Parse>
Key text_key(std::string path, std::string takes, Member member, Parse parse, std::string meaning) {
    Key key{std::move(path), std::move(takes), std::move(meaning), {}, {}};
    key.set = [member, parse](const Key& self, const Setting& setting, RunConfig& config) {
        set_scalar(self, setting, [&](const std::string& text) { return parse(text, member(config)); });
    };
    key.print = [member](const RunConfig& config) { return print_text(member(config)); };
    return key;
}

std::string absolute_path(const std::string& folder, const std::string& path);
// The words none and null, or YAML's null in a file: an empty --set is most often a shell's unset variable.
bool says_none(const Setting& setting);

template <class Member>
Key path_key(std::string path, Member member, std::string meaning) {
    Key key{std::move(path), "a path", std::move(meaning), {}, {}};
    key.set = [member](const Key& self, const Setting& setting, RunConfig& config) {
        set_scalar(self, setting, [&](const std::string& text) -> std::string {
            if (text.empty()) return "is empty";
            member(config) = absolute_path(setting.folder, text);
            return "";
        });
    };
    key.print = [member](const RunConfig& config) {
        return member(config).empty() ? std::string() : print_text(member(config));
    };
    return key;
}

// One that need not be given.
template <class Member>
Key optional_path_key(std::string path, Member member, std::string meaning) {
    Key key = path_key(std::move(path), member, std::move(meaning));
    key.takes = "a path, or none (./none: of that name)";
    key.default_text = "none";
    key.set = [member, set = key.set](const Key& self, const Setting& setting, RunConfig& config) {
        if (says_none(setting))
            member(config).clear();
        else
            set(self, setting, config);
    };
    return key;
}

template <class E>
std::vector<std::string> all_words() {
    std::vector<std::string> words;
    for (const Word<E>& entry : kWords<E>) words.emplace_back(entry.word);
    return words;
}

template <class E>
std::string parse_word(std::string_view text, E& value) {
    if (const std::optional<E> found = value_of<E>(text)) {
        value = *found;
        return "";
    }
    const std::optional<std::string> close = nearest(text, all_words<E>());
    return quoted(text) + " is not known" + (close ? " (did you mean " + *close + "?)" : "");
}

// A choice of words; an optional member can be left to the preset with `auto`.
template <class E, class Member>
Key choice(std::string path, Member member, std::string meaning) {
    using Stored = std::remove_cvref_t<decltype(member(std::declval<RunConfig&>()))>;
    const std::string ending = kIsOptional<Stored> ? ", auto" : "";
    const std::string opening = all_words<E>().size() > 1 ? "one of " : "";
    Key key{std::move(path), opening + joined(all_words<E>()) + ending, std::move(meaning), {}, {}};
    key.set = [member](const Key& self, const Setting& setting, RunConfig& config) {
        set_scalar(self, setting, [&](const std::string& text) -> std::string {
            Stored& stored = member(config);
            if constexpr (kIsOptional<Stored>) {
                if (text == "auto") {
                    stored.reset();
                    return "";
                }
            }
            E value{};
            const std::string what = parse_word(text, value);
            if (what.empty()) stored = value;
            return what;
        });
    };
    key.print = [member](const RunConfig& config) {
        const Stored& stored = member(config);
        if constexpr (kIsOptional<Stored>) {
            return stored ? std::string(word_of(*stored)) : std::string("auto");
        } else {
            return std::string(word_of(stored));
        }
    };
    return key;
}

// A list of T; `parse` reads one element and returns what is wrong with it, `print` writes one.
template <class T, class Member, class Parse, class Print>
Key list_key(std::string path, std::string takes, Member member, Parse parse, Print print,
             std::string meaning) {
    Key key{std::move(path), std::move(takes), std::move(meaning), {}, {}};
    key.set = [member, parse](const Key& self, const Setting& setting, RunConfig& config) {
        if (setting.item.kind != YamlItem::Kind::kList) {
            refuse(self, setting, setting.item.place, "is not a list");
            return;
        }
        std::vector<T> values;
        for (const YamlItem& element : setting.item.items) {
            T value{};
            const std::string what = parse(element, value);
            if (what.empty()) {
                values.push_back(std::move(value));
            } else {
                refuse(self, setting, element.place,
                       "element " + std::to_string(values.size() + 1) + ": " + what);
                return;
            }
        }
        member(config) = std::move(values);
    };
    key.print = [member, print](const RunConfig& config) {
        std::vector<std::string> printed;
        for (const T& value : member(config)) printed.push_back(print(value));
        return print_list(printed);
    };
    return key;
}

// Keys of pictures, in keys_pictures.cpp.
std::vector<Key> picture_keys();
std::vector<Key> picture_augment_keys();

// The keys whose value is a small map or a list of maps.
Key normalize_key();
Key overrides_key();
Key memory_limit_key();

}  // namespace mpt
