#include "support/op_twin.h"

TEST_CASE("GPU kernels of attention agree with their ops' references on the host twin") {
    mpt::test::check_on_twin(mpt::test::is_attention_op);
}
