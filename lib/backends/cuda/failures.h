// Failures of a device and its libraries that callers tell apart from others.
#pragma once

#include <string>

#include "core/error.h"

namespace mpt::gpu {

// No memory on the device, or none that is pinned on the host.
class OutOfMemory : public Error {
  public:
    explicit OutOfMemory(const std::string& what)
        : Error(ExitCode::kResource, what + "; lower train.batch_size or raise train.accumulate") {}
};

// A call of cuBLASLt or cuDNN that failed. While candidates are timed it only rules out the one that made it;
// anywhere else it ends the run as a broken invariant does.
class CallFailed : public InternalError {
  public:
    using InternalError::InternalError;
};

}  // namespace mpt::gpu
