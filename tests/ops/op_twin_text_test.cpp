#include "support/op_twin.h"

TEST_CASE("GPU kernels of text, losses and updates agree with their ops' references on the host twin") {
    using namespace mpt::test;
    check_on_twin([](std::string_view op) { return !is_picture_op(op) && !is_attention_op(op); });
}
