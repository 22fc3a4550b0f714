// YAML as a plain tree that remembers where everything stood. yaml_tree.cpp is the only file that knows
// yaml-cpp; numbers, booleans and nulls inside values are not interpreted here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/faults.h"

namespace mpt {

struct YamlItem {
    enum class Kind { kNull, kScalar, kList, kMap };
    Kind kind = Kind::kNull;
    std::string text;  // kScalar
    Place place;
    std::vector<YamlItem> items;  // kList, and kMap in file order with duplicates
    std::string key;              // of an item of a map
    Place key_place;
};

// The one document of `text`; faults name source number `source`. A kNull item when nothing could be read,
// and then a fault has been added, unless the document is empty. Aliases are expanded; merge keys are left as
// "<<".
YamlItem parse_yaml(std::string_view text, int source, Faults& faults);

// Adds a fault for tabs in indentation and for bytes that no text has: yaml-cpp is vague about the first and
// lax about the second. parse_yaml does this first.
void check_text(std::string_view text, int source, Faults& faults);

}  // namespace mpt
