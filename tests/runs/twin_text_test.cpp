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

TEST_CASE("a GPU's products take gelu of the tanh form, its gradient, and the gradients of biases") {
    const auto count_in_plan = [](test::TwinTask task, const std::string& words) {
        gpu::HostTwin device;
        const TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
        const std::string plan = program.plan_text();
        int times = 0;
        for (std::size_t at = plan.find(words); at != std::string::npos; at = plan.find(words, at + 1))
            ++times;
        return times;
    };
    // Two blocks of four layers with biases, one of them before gelu.
    test::TwinTask task = test::gpt_task(PrecisionMode::kAmpBf16);
    CHECK(count_in_plan(task, ": linear_gelu by cublaslt") == 2);
    CHECK(count_in_plan(task, ": linear_backward_weight_bias_accumulate by cublaslt") == 8);
    CHECK(count_in_plan(task, ": gelu") == 0);
    CHECK(count_in_plan(task, ": sum_rows") == 0);
    task.config.model.activation = ActivationType::kGelu;
    CHECK(count_in_plan(task, ": linear_gelu") == 0);
    CHECK(count_in_plan(task, ": gelu by cuda") == 2);
    // A product of fp8 takes its bias only.
    CHECK(count_in_plan(test::gpt_task(PrecisionMode::kFp8), ": linear_gelu") == 0);
}
