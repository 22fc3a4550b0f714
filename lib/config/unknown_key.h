// What to tell about a key that is not in the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mpt {

struct UnknownKey {
    std::string what;  // "unknown key; did you mean optimizer.lr?"
    std::string
        section;  // the section that was probably meant, "" if none: its contents can still be checked
};

// `word` was found in `section` ("" is the top level), which exists.
UnknownKey explain_unknown(std::string_view section, std::string_view word);

// A dotted path whose section does not exist, where its words in one are a known name: run.dir is run_dir.
std::optional<UnknownKey> explain_joined(std::string_view path);

}  // namespace mpt
