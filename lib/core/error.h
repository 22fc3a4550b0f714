// The two kinds of failure: Error is the user's (names the thing at fault and the remedy, carries the exit
// code of the command); MPT_CHECK guards our own invariants and is never expected to fire.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace mpt {

// Exit codes of the command, as documented in the README.
enum class ExitCode : int {
    kDone = 0,
    kUsage = 2,       // bad command line or config
    kData = 3,        // bad or missing data
    kDivergence = 4,  // training became numerically hopeless
    kCheckpoint = 5,  // checkpoint missing, damaged or of another model
    kResource = 6,    // memory or disk
};

// A failure the user can act on. `what()` is one line (or several faults, one a line) without a trailing
// newline.
class Error : public std::runtime_error {
  public:
    Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ExitCode code() const { return code_; }

  private:
    ExitCode code_;
};

// A broken invariant of ours. The message carries the place and the condition.
class InternalError : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const std::string& detail,
                             std::source_location where = std::source_location::current());

}  // namespace mpt

// MPT_CHECK(condition) or MPT_CHECK(condition, "detail " + std::to_string(x)): throws InternalError.
#define MPT_CHECK(condition, ...)                                                    \
    do {                                                                             \
        if (!(condition)) ::mpt::fail_check(#condition, ::std::string(__VA_ARGS__)); \
    } while (false)
