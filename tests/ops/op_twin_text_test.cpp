#include "support/op_twin.h"

TEST_CASE("GPU kernels of text, losses and updates agree with their ops' references on the host twin") {
    mpt::test::check_on_twin([](std::string_view op) { return !mpt::test::is_picture_op(op); });
}
