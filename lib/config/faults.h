// Faults of a config, gathered so that all are told in one go, each one line with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace mpt {

// Where a text stood: line and column (from 1; 0: unknown) of source 0, the file, or of --set number
// `source`.
struct Place {
    int source = 0;
    int line = 0;
    int column = 0;
};

// Several faults, a line each, and each printable. Every other Error is one line, whatever names it holds.
class ConfigFaults : public Error {
  public:
    explicit ConfigFaults(const std::string& lines) : Error(ExitCode::kUsage, lines) {}
};

class Faults {
  public:
    // Names the sources in messages: the file first, then "--set a.b=c" for each override.
    explicit Faults(std::vector<std::string> sources) : sources_(std::move(sources)) {}

    // "place: key: what"; without a key "place: what".
    void add(const Place& place, std::string_view key, std::string_view what);
    void warn(const Place& place, std::string_view key, std::string_view what);
    std::size_t size() const { return faults_.size(); }
    std::vector<std::string> warnings() const;
    // Throws ConfigFaults with the faults in the order of their places, if there are any.
    void throw_if_any() const;

  private:
    struct Fault {
        Place place;
        std::string line;
    };
    std::string line_of(const Place& place, std::string_view key, std::string_view what) const;
    static std::vector<Fault> in_order(std::vector<Fault> faults);

    std::vector<std::string> sources_;
    std::vector<Fault> faults_;
    std::vector<Fault> warnings_;
};

// Text of the user's between single quotes as it may stand in a message: printable, and not too long.
std::string quoted(std::string_view text);

}  // namespace mpt
