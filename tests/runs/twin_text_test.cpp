// Whole training steps of the CUDA backend on the host twin, of a GPT and of an encoder-decoder; against the
// CPU.
#include <catch2/catch.hpp>

#include "support/twin_text_tasks.h"

using namespace mpt;
using gpu::TwinOrder;

namespace {

void check(test::TwinTask (*task)(PrecisionMode), TwinOrder order) {
    const auto plain = test::train_both(task(PrecisionMode::kFp32), order, 20);
    CHECK(plain.worst_loss() < 1e-4);
    CHECK(plain.twin.controls.back().applied == 20);
    CHECK(plain.twin.losses.back() < plain.twin.losses.front());
    const auto f16 = test::train_both(task(PrecisionMode::kAmpFp16), order, 20, 4);
    CHECK(f16.worst_loss() < 2e-2);
    CHECK(f16.twin.controls[4].found_nonfinite == 1);
    CHECK(f16.twin.controls.back().skipped == 1);
    CHECK(f16.twin.controls.back().applied == 19);
    const auto bf16 = test::train_both(task(PrecisionMode::kAmpBf16), order, 20);
    CHECK(bf16.worst_loss() < 2e-2);
    CHECK(bf16.twin.controls.back().applied == 20);
}

}  // namespace

TEST_CASE("a GPT trains on the host twin as on the CPU, an overflow included") {
    check(test::gpt_task, TwinOrder::kFirstStreamAhead);
}

TEST_CASE("a GPT of rotations, RMS norms and gated units trains on the host twin as on the CPU") {
    check(test::modern_gpt_task, TwinOrder::kSecondStreamAhead);
}

TEST_CASE("an encoder-decoder trains on the host twin as on the CPU, an overflow included") {
    check(test::translation_task, TwinOrder::kFirstStreamAhead);
}

TEST_CASE("text on the host twin gives the same bits with the threads in the other order") {
    const auto weights = test::weights_in_both_orders(test::gpt_task(PrecisionMode::kAmpFp16), 3);
    CHECK(weights[0] == weights[1]);
}
