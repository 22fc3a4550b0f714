#include "config/key.h"

#include <algorithm>

namespace mpt {

const Key* find_key(std::string_view path) {
    for (const Key& key : all_keys())
        if (key.path == path) return &key;
    return nullptr;
}

bool is_section(std::string_view path) {
    if (path.empty()) return true;
    const std::string prefix = std::string(path) + ".";
    return std::any_of(all_keys().begin(), all_keys().end(),
                       [&](const Key& key) { return key.path.starts_with(prefix); });
}

std::string section_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? "" : std::string(path.substr(0, dot));
}

std::string last_part(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
}

bool matters(const Key& key, const RunConfig& config) {
    if (key.switch_path.empty()) return true;
    const Key* by = find_key(key.switch_path);
    const std::vector<std::string>& words = key.switch_words;
    return std::find(words.begin(), words.end(), by->print(config)) != words.end();
}

std::string default_of(const Key& key) {
    return key.default_text.empty() ? key.print(RunConfig{}) : key.default_text;
}

}  // namespace mpt
