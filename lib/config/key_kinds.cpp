#include "config/key_kinds.h"

#include <algorithm>
#include <filesystem>
#include <limits>

namespace mpt {
namespace {

std::string or_words(std::string_view zero_word, std::string_view unset_word) {
    std::string text;
    for (std::string_view word : {zero_word, unset_word})
        if (!word.empty()) text += ", or " + std::string(word);
    return text;
}

bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A number's own text needs no quotes in a message, anything else does.
std::string named(std::string_view text) {
    const bool plain = !text.empty() && text.size() <= 40 &&
                       text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
    return plain ? std::string(text) : quoted(text);
}

}  // namespace

std::string describe(const WholeRange& range) {
    return "a whole number from " + std::to_string(range.min) + " to " + std::to_string(range.max) +
           or_words(range.zero_word, range.unset_word);
}

std::string describe(const RealRange& range) {
    std::string text = "a number ";
    text += range.above_min ? "above " : "from ";
    text += print_real(range.min);
    if (range.below_max) text += range.above_min ? " and below " : " to below ";
    if (!range.below_max) text += range.above_min ? ", up to " : " to ";
    text += print_real(range.max);
    return text + or_words(range.zero_word, range.unset_word);
}

std::string describe(const DurationRange& range) {
    return "updates (500) or epochs (5 epochs)" + or_words(range.zero_word, range.unset_word);
}

std::string parse_in(const WholeRange& range, std::string_view text, std::int64_t& value) {
    const Parsed<std::int64_t> parsed = parse_whole(text);
    if (const auto* what = std::get_if<std::string>(&parsed)) return named(text) + " " + *what;
    value = std::get<std::int64_t>(parsed);
    if (value < range.min || value > range.max) return named(text) + " is out of range";
    return "";
}

std::string parse_in(const RealRange& range, std::string_view text, double& value) {
    const Parsed<double> parsed = parse_real(text);
    if (const auto* what = std::get_if<std::string>(&parsed)) return named(text) + " " + *what;
    value = std::get<double>(parsed);
    const bool low = range.above_min ? value <= range.min : value < range.min;
    const bool high = range.below_max ? value >= range.max : value > range.max;
    if (low || high) return named(text) + " is out of range";
    return "";
}

std::string parse_in(const DurationRange&, std::string_view text, Duration& value) {
    constexpr double kMost = 1e12;
    const std::size_t space = text.find(' ');
    const std::string_view amount = text.substr(0, space);
    std::string_view unit = space == std::string_view::npos ? "updates" : text.substr(space + 1);
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    const bool epochs = unit == "epochs" || unit == "epoch";
    if (!epochs && unit != "updates" && unit != "update") return quoted(text) + " is no length of training";
    if (epochs) {
        const std::string what = parse_in(RealRange{0, kMost}, amount, value.amount);
        value.unit = DurationUnit::kEpochs;
        return what;
    }
    std::int64_t updates = 0;
    const std::string what = parse_in(WholeRange{0, static_cast<std::int64_t>(kMost)}, amount, updates);
    value = {static_cast<double>(updates), DurationUnit::kUpdates};
    return what;
}

std::string parse_switch(std::string_view text, bool& value) {
    const std::string word = normalized(text);
    if (word != "true" && word != "false") return quoted(text) + " is neither true nor false";
    value = word == "true";
    return "";
}

std::string parse_bytes(std::string_view text, std::int64_t& value) {
    struct Unit {
        std::string_view name;
        std::int64_t bytes;
    };
    constexpr std::int64_t kKibi = 1024;
    constexpr Unit kUnits[] = {{"", 1},
                               {"B", 1},
                               {"KiB", kKibi},
                               {"MiB", kKibi * kKibi},
                               {"GiB", kKibi * kKibi * kKibi},
                               {"TiB", kKibi * kKibi * kKibi * kKibi},
                               {"KB", 1000},
                               {"MB", 1000000},
                               {"GB", 1000000000},
                               {"TB", 1000000000000}};
    constexpr std::int64_t kLeast = kKibi * kKibi;
    constexpr double kMost = 0x1p60;
    std::size_t end = text.find_first_not_of("0123456789.+-eE");
    const std::string_view number = text.substr(0, end);
    std::string_view unit = end == std::string_view::npos ? "" : text.substr(end);
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    for (const Unit& known : kUnits) {
        if (known.name != unit) continue;
        const Parsed<double> parsed = parse_real(number);
        if (const auto* what = std::get_if<std::string>(&parsed)) return quoted(text) + " " + *what;
        const double bytes = std::get<double>(parsed) * static_cast<double>(known.bytes);
        if (bytes < static_cast<double>(kLeast) || bytes > kMost) return named(text) + " is out of range";
        value = static_cast<std::int64_t>(bytes);
        return "";
    }
    return quoted(text) + " is no amount of memory";
}

std::string parse_device(std::string_view text, std::string& value) {
    bool good = text == "auto" || text == "cpu" || text == "cuda";
    if (text.starts_with("cuda:")) {
        std::int64_t index = 0;
        good = parse_in(WholeRange{0, 1023}, text.substr(5), index).empty();
    }
    if (!good) return quoted(text) + " is no device";
    value = text;
    return "";
}

std::string parse_run_name(std::string_view text, std::string& value) {
    if (text.empty() || text.size() > 200) return "has " + std::to_string(text.size()) + " bytes";
    if (text.starts_with('.') || text.starts_with('-')) return quoted(text) + " begins with . or -";
    for (const char c : text)
        if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return quoted(text) + " cannot name a folder";
    value = text;
    return "";
}

std::string print_value(std::int64_t value) {
    return std::to_string(value);
}

std::string print_value(double value) {
    return print_real(value);
}

std::string print_value(const Duration& value) {
    const std::string unit = value.unit == DurationUnit::kEpochs ? "epoch" : "update";
    return print_real(value.amount) + " " + unit + (value.amount == 1 ? "" : "s");
}

std::string print_text(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const bool starts_plain = !text.empty() && (is_word(text.front()) || text.front() == '/');
    const auto is_plain = [](char c) {
        return is_word(c) || std::string_view("_./+-*").find(c) != std::string_view::npos;
    };
    const std::string word = normalized(text);
    if (starts_plain && std::all_of(text.begin(), text.end(), is_plain) && word != "null")
        return std::string(text);
    std::string printed = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            printed += {'\\', c};
        } else if (byte < 0x20 || byte == 0x7f) {
            printed += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        } else {
            printed += c;
        }
    }
    return printed + "\"";
}

std::string print_list(const std::vector<std::string>& printed) {
    return "[" + joined(printed) + "]";
}

void refuse(const Key& key, const Setting& setting, const Place& place, const std::string& what) {
    setting.faults.add(place, key.path, what + "; it takes " + key.takes);
}

std::optional<std::string> scalar_of(const Key& key, const Setting& setting) {
    switch (setting.item.kind) {
        case YamlItem::Kind::kScalar:
            return setting.item.text;
        case YamlItem::Kind::kNull:
            refuse(key, setting, setting.item.place, "has no value");
            break;
        case YamlItem::Kind::kList:
            refuse(key, setting, setting.item.place, "is a list");
            break;
        case YamlItem::Kind::kMap:
            refuse(key, setting, setting.item.place, "is a section");
            break;
    }
    return std::nullopt;
}

bool says_none(const Setting& setting) {
    const YamlItem& item = setting.item;
    if (item.kind == YamlItem::Kind::kNull) return item.place.source == 0;
    return item.kind == YamlItem::Kind::kScalar && (item.text == "none" || item.text == "null");
}

std::string absolute_path(const std::string& folder, const std::string& path) {
    std::string text = (std::filesystem::path(folder) / path).lexically_normal().string();
    while (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

}  // namespace mpt
