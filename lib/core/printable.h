// Names of others (files, folders, classes) in messages: what would steer a terminal or break a line is
// written out, as \n, \t or \x1b; so are bytes that are not UTF-8. Everything else stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace mpt {

std::string printable(std::string_view text);
// The same for a text of several lines: tabs and line ends stay.
std::string printable_lines(std::string_view text);

}  // namespace mpt
