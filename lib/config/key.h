// A key of the config: one row of the table in keys.cpp, from which parsing, checks, the echo and the listing
// follow.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/faults.h"
#include "config/run_config.h"
#include "config/yaml_tree.h"

namespace mpt {

// A value that was given for a key, and the folder its relative paths start from.
struct Setting {
    const YamlItem& item;
    const std::string& folder;
    Faults& faults;
};

struct Key {
    std::string path;                                                 // train.batch_size
    std::string takes;                                                // "a whole number from 1 to 1048576"
    std::string meaning;                                              // one sentence, no full stop
    std::function<void(const Key&, const Setting&, RunConfig&)> set;  // adds faults to the setting's
    std::function<std::string(const RunConfig&)> print;               // as YAML on one line; "": leave out
    std::string default_text = {};                                    // "": what print says of a RunConfig{}
    std::vector<std::string> synonyms = {};  // other names people use for the last part
    // The key matters only if `switch_path` has one of `switch_words`; empty: always.
    std::string switch_path = {};
    std::vector<std::string> switch_words = {};
};

// The table, in the order of echo and listing. Keys of one section stand together.
const std::vector<Key>& all_keys();
const Key* find_key(std::string_view path);
bool is_section(std::string_view path);  // a proper prefix of some key; "" is one
std::string section_of(std::string_view path);
std::string last_part(std::string_view path);
bool matters(const Key& key, const RunConfig& config);
std::string default_of(const Key& key);

}  // namespace mpt
