// The config written out: the resolved one as YAML, and the table of keys for reading.
#include <algorithm>

#include "config/key.h"
#include "config/read.h"
#include "config/suggest.h"

namespace mpt {
namespace {

std::size_t depth_of(std::string_view section) {
    std::size_t depth = section.empty() ? 0 : 1;
    for (const char c : section)
        if (c == '.') ++depth;
    return depth;
}

// Opens the sections on the way from `open` to `wanted`.
std::string section_headers(const std::string& open, const std::string& wanted) {
    if (wanted.empty() || wanted == open || open.starts_with(wanted + ".")) return "";
    const std::string outer = section_of(wanted);
    return section_headers(open, outer) + std::string(2 * depth_of(outer), ' ') + last_part(wanted) + ":\n";
}

std::string condition_of(const Key& key) {
    return key.switch_path.empty() ? "" : "with " + key.switch_path + " " + joined(key.switch_words);
}

std::string in_markdown(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '|' || c == '*' || c == '_') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

constexpr const char* kMarkdownHead =
    R"(# Configs

`mpt-train --config FILE` trains what the file says; the first comment of each file here says what it is for.
`--config` also finds a bare name here: `mpt-train --config fashion_mnist_resnet20_amp`.
The table below is written by `mpt-train keys --markdown` from the code; do not edit it.

How a file is read:
- Every key has a default, so a file holds only what differs. Unknown keys, repeated keys, wrong types and values out of
  range are errors, all told in one go as `file:line:column: key: what; remedy`, and the exit code is 2.
- `--set a.b=c` (any number of times) replaces what the file says; the last one wins. A value that begins with `[`, `{`
  or a quote is read as YAML, any other as it stands. `--set train.steps=20` takes the place of the file's `train.epochs`
  and the other way round.
- Relative paths in a file start from the file's folder, relative paths in `--set` from the working directory.
- Numbers are decimal: `0.0001`, `1e-4`, `1E-4`, `1.e-4`, `.0001`, `+1e-4`, quoted or not. Hexadecimal, leading zeros,
  decimal commas, underscores, `.nan` and `.inf` are refused.
- Lengths of training are updates (`500` or `500 updates`) or epochs (`5 epochs`, `0.5 epochs`).
- Switches are `true` or `false`. Anchors and aliases work; merge keys (`<<`), tags and several documents in one file
  do not. A key without a value is an error, an empty section is not.
- The resolved config is written into the run directory with absolute paths; it can be given to `--config` again.
)";

}  // namespace

std::string echo(const RunConfig& config) {
    std::string text = "# Every key of this run as resolved; mpt-train --config reads it back.\n";
    std::string open;
    for (const Key& key : all_keys()) {
        const std::string value = key.print(config);
        if (value.empty()) continue;
        if (!matters(key, config) && value == key.print(RunConfig{})) continue;
        const std::string section = section_of(key.path);
        text += section_headers(open, section);
        text += std::string(2 * depth_of(section), ' ') + last_part(key.path) + ": " + value + "\n";
        open = section;
    }
    return text;
}

std::vector<std::string> changed_keys(const RunConfig& now, const RunConfig& then,
                                      const std::vector<std::string>& sections) {
    std::vector<std::string> changed;
    const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
    for (const Key& key : all_keys()) {
        const std::string first = key.path.substr(0, key.path.find('.'));
        if (std::ranges::find(sections, first) == sections.end()) continue;
        const std::string value = key.print(now), before = key.print(then);
        if (value != before)
            changed.push_back(key.path + " " + shown(value) + " (was " + shown(before) + ")");
    }
    return changed;
}

std::string keys_text() {
    std::string text;
    for (const Key& key : all_keys()) {
        const std::string condition = condition_of(key);
        text += key.path + "\n    " + key.meaning + "\n    takes " + key.takes + "\n    default " +
                default_of(key) + (condition.empty() ? "" : "; only " + condition) + "\n";
    }
    return text;
}

std::string keys_markdown() {
    std::string text = kMarkdownHead;
    std::string open = "none yet";
    for (const Key& key : all_keys()) {
        const std::string section = section_of(key.path);
        if (section != open) {
            text += "\n## " + (section.empty() ? "Top level" : "`" + section + "`") +
                    "\n\n| key | takes | default | meaning |\n|---|---|---|---|\n";
            open = section;
        }
        const std::string condition = condition_of(key);
        text += "| `" + last_part(key.path) + "` | " + in_markdown(key.takes) + " | " +
                in_markdown(default_of(key)) + " | " + in_markdown(key.meaning) +
                in_markdown(condition.empty() ? "" : " (only " + condition + ")") + " |\n";
    }
    return text;
}

}  // namespace mpt
