// What a failing call says.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"

namespace mpt::test {

// The message of the Error that `call` throws, which must be one line and carry `code`.
template <typename Call>
std::string error_of(ExitCode code, Call call) {
    try {
        call();
    } catch (const Error& error) {
        CHECK(static_cast<int>(error.code()) == static_cast<int>(code));
        const std::string text = error.what();
        CHECK(text.find('\n') == std::string::npos);
        return text;
    }
    FAIL("no error was thrown");
    return {};
}

}  // namespace mpt::test
