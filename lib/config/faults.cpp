#include "config/faults.h"

#include <algorithm>
#include <tuple>

#include "core/printable.h"

namespace mpt {
namespace {

constexpr std::size_t kMaxFaults = 50;
constexpr std::size_t kMaxQuoted = 80;

}  // namespace

std::string Faults::line_of(const Place& place, std::string_view key, std::string_view what) const {
    std::string line = sources_.at(static_cast<std::size_t>(place.source));
    if (place.source == 0 && place.line > 0)
        line += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
    line += ": ";
    if (!key.empty()) line.append(key).append(": ");
    return printable(line.append(what));
}

void Faults::add(const Place& place, std::string_view key, std::string_view what) {
    faults_.push_back({place, line_of(place, key, what)});
}

void Faults::warn(const Place& place, std::string_view key, std::string_view what) {
    warnings_.push_back({place, line_of(place, key, what)});
}

std::vector<Faults::Fault> Faults::in_order(std::vector<Fault> faults) {
    const auto position = [](const Fault& fault) {
        return std::tuple(fault.place.source, fault.place.line, fault.place.column);
    };
    std::stable_sort(faults.begin(), faults.end(),
                     [&](const Fault& a, const Fault& b) { return position(a) < position(b); });
    return faults;
}

std::vector<std::string> Faults::warnings() const {
    std::vector<std::string> lines;
    for (const Fault& warning : in_order(warnings_)) lines.push_back(warning.line);
    return lines;
}

void Faults::throw_if_any() const {
    if (faults_.empty()) return;
    std::string message;
    std::size_t num_told = 0;
    for (const Fault& fault : in_order(faults_)) {
        if (num_told == kMaxFaults) {
            message += "\n" + printable(sources_.front()) + ": and " +
                       std::to_string(faults_.size() - num_told) + " more faults";
            break;
        }
        if (num_told++ > 0) message += "\n";
        message += fault.line;
    }
    throw ConfigFaults(message);
}

std::string quoted(std::string_view text) {
    if (text.size() <= kMaxQuoted) return "'" + printable(text) + "'";
    std::size_t end = kMaxQuoted;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;  // whole characters
    return "'" + printable(text.substr(0, end)) + "...'";
}

}  // namespace mpt
