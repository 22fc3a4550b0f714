#include "core/error.h"

namespace mpt {

void fail_check(const char* condition, const std::string& detail, std::source_location where) {
    std::string message = "internal error: ";
    message += where.file_name();
    message += ':';
    message += std::to_string(where.line());
    message += ": ";
    message += condition;
    if (!detail.empty()) message += ": " + detail;
    throw InternalError(message);
}

}  // namespace mpt
