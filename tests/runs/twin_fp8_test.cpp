// Training in fp8: on the host twin as on the CPU, close to f32, resumed to the bit, recomputed to the bit.
#include <catch2/catch.hpp>

#include "support/errors.h"
#include "support/twin_text_tasks.h"

using namespace mpt;
using gpu::TwinOrder;
using test::TwinTask;

namespace {

test::Trace on_cpu(const TwinTask& task, int updates) {
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    TrainingProgram program(task.config, task.data, 1, std::move(cpu));
    return test::train(program, task, updates, -1);
}

// 20 updates of two micro-steps each. fp8 keeps 3 bits of mantissa, 2 of a gradient: every loss is held
// within `tolerance` of f32's.
void check(TwinTask (*task)(PrecisionMode), TwinOrder order, double tolerance) {
    const test::TracePair fp8 = test::train_both(task(PrecisionMode::kFp8), order, 20);
    CHECK(fp8.worst_loss() < 2e-2);
    CHECK(fp8.twin.controls.back().applied == 20);
    CHECK(fp8.twin.losses.back() < fp8.twin.losses.front());
    const test::Trace f32 = on_cpu(task(PrecisionMode::kFp32), 20);
    for (std::size_t i = 0; i < f32.losses.size(); ++i) {
        CAPTURE(i, f32.losses[i], fp8.cpu.losses[i]);
        CHECK(std::abs(fp8.cpu.losses[i] - f32.losses[i]) < tolerance * f32.losses[i]);
    }
    // And it is another arithmetic.
    CHECK(fp8.cpu.losses != on_cpu(task(PrecisionMode::kAmpBf16), 20).losses);
}

std::size_t count(const std::string& text, const std::string& word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
    return times;
}

std::string plan_of(const TwinTask& task) {
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    return TrainingProgram(task.config, task.data, 1, std::move(cpu)).plan_text();
}

std::string summary_of(const TwinTask& task) {
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    return TrainingProgram(task.config, task.data, 1, std::move(cpu)).precision_summary();
}

}  // namespace

TEST_CASE("a GPT trains in fp8 on the host twin as on the CPU") {
    check(test::gpt_task, TwinOrder::kFirstStreamAhead, 2e-3);
}

TEST_CASE("a GPT of rotations, RMS norms and gated units trains in fp8 on the host twin as on the CPU") {
    check(test::modern_gpt_task, TwinOrder::kSecondStreamAhead, 2e-3);
}

TEST_CASE("an encoder-decoder trains in fp8 on the host twin as on the CPU") {
    check(test::translation_task, TwinOrder::kFirstStreamAhead, 2e-2);
}

TEST_CASE("fp8 on the host twin gives the same bits with the threads in the other order") {
    const auto weights = test::weights_in_both_orders(test::gpt_task(PrecisionMode::kFp8), 3);
    CHECK(weights[0] == weights[1]);
}

TEST_CASE(
    "the plan of fp8 has the products of the blocks' linear layers, and the log says what emulates them") {
    const TwinTask task = test::gpt_task(PrecisionMode::kFp8);
    const std::string plan = plan_of(task);
    // Two blocks of four layers, each with three products; weight gradients add to what is there.
    CHECK(count(plan, ": linear_fp8 by") == 16);
    CHECK(count(plan, ": linear_fp8_accumulate by") == 8);
    CHECK(count(plan, ": quantize_fp8 by") == 24);  // x, w and grad_y of each layer
    CHECK_THAT(summary_of(task), Catch::Contains("24 products of the blocks' linear layers in fp8") &&
                                     Catch::Contains("emulated") && Catch::Contains("delayed scaling"));
}

TEST_CASE("places that an override names, and sizes that fp8 has no products of, stay out of it") {
    TwinTask task = test::gpt_task(PrecisionMode::kFp8);
    task.config.precision.overrides = {{"h.0.*", DType::bf16}};
    CHECK_THAT(summary_of(task), Catch::Contains("12 products of the blocks' linear layers in fp8"));
    task.config.precision.overrides.clear();
    task.config.model.ffn_width = 40;
    const std::string summary = summary_of(task);
    CHECK_THAT(summary, Catch::Contains("12 products of the blocks' linear layers in fp8"));
    CHECK_THAT(summary, Catch::Contains("h.1.mlp.c_fc.backward_weight stays bf16: 32 -> 40 features are no "
                                        "multiples of 16"));
    CHECK(std::isfinite(on_cpu(task, 2).losses.back()));
}

TEST_CASE("an evaluation leaves the scales of fp8 alone, a replay too") {
    const TwinTask task = test::gpt_task(PrecisionMode::kFp8);
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    TrainingProgram program(task.config, task.data, 1, std::move(cpu));
    program.expect_evaluation_batch(task.data.micro_batch);
    test::train(program, task, 2, -1);
    const auto scaling = [&] {
        const std::byte* first = program.region(Region::kScaling);
        return std::vector<std::byte>(first, first + program.variables().region_bytes(Region::kScaling));
    };
    const std::vector<std::byte> before = scaling();
    CHECK(std::ranges::any_of(before, [](std::byte b) { return b != std::byte{0}; }));
    RandomStream random(6, RandomPurpose::kSynthetic, 0);
    const test::OwnedBatch batch = task.draw(task.data, random);
    CHECK(std::isfinite(program.run_evaluation(batch.view()).loss_sum));
    CHECK(scaling() == before);
    program.run_micro_step(batch.view(), {batch.weight, 4});
    const std::vector<std::byte> after = scaling();
    CHECK(after != before);
    program.replay(1, [](const Executor&, const PlannedStep&) {});
    CHECK(scaling() == after);
}

TEST_CASE("recomputed blocks give fp8 the same bits") {
    for (TwinTask (*make)(PrecisionMode) : {test::gpt_task, test::translation_task}) {
        TwinTask task = make(PrecisionMode::kFp8);
        const test::Trace kept = on_cpu(task, 6);
        task.config.memory.recompute = Recompute::kBlocks;
        const test::Trace again = on_cpu(task, 6);
        CHECK(again.losses == kept.losses);
        CHECK(again.weights == kept.weights);
    }
}

TEST_CASE(
    "an fp8 run that is interrupted and resumed has the same bits, and its scales are in the checkpoint") {
    const auto model = GENERATE(ModelType::kGpt, ModelType::kTransformer);
    const test::ScratchFolder folder;
    test::write_file(folder / "text.txt", test::small_text(300));
    test::write_file(folder / "pairs.tsv", test::small_pairs(120));
    RunConfig config = model == ModelType::kGpt
                           ? test::small_gpt_config(folder / "straight", folder / "text.txt")
                           : test::small_transformer_config(folder / "straight", folder / "pairs.tsv");
    config.train.steps = 9;
    config.train.accumulate = 2;
    config.model.dropout = 0.1;
    config.precision.mode = PrecisionMode::kFp8;
    test::run(config);
    RunConfig parts = config;
    parts.output_dir = (folder / "parts").string();
    parts.train.steps = 4;  // in the middle of an epoch
    test::run(parts);
    parts.train.steps = 9;
    test::run(parts, {.resume = ResumeKind::kAuto});
    CHECK(test::weights_of(folder / "parts", 9) == test::weights_of(folder / "straight", 9));
    CHECK(test::column(test::rows_of(folder / "parts", "train"), "loss") ==
          test::column(test::rows_of(folder / "straight", "train"), "loss"));
    const auto scales = [&](const char* run) {
        return test::file_text(test::checkpoint_at(folder / run, 9) / "scaling.safetensors");
    };
    CHECK(scales("parts") == scales("straight"));
    const SafetensorsFile file(test::checkpoint_at(folder / "straight", 9) / "scaling.safetensors");
    CHECK(file.tensors().size() >= 24);
    for (const TensorEntry& entry : file.tensors()) CHECK(entry.shape == Shape{2 + 16});
    // Another history, or another precision: what does not fit begins anew, and the run goes on.
    parts.precision.fp8.history = 4;
    parts.train.steps = 10;
    test::run(parts, {.resume = ResumeKind::kAuto});
    parts.precision.mode = PrecisionMode::kAmpBf16;
    parts.train.steps = 11;
    test::run(parts, {.resume = ResumeKind::kAuto});
    CHECK_FALSE(std::filesystem::exists(test::checkpoint_at(folder / "parts", 11) / "scaling.safetensors"));
    parts.precision.mode = PrecisionMode::kFp8;
    parts.train.steps = 12;
    CHECK(test::run(parts, {.resume = ResumeKind::kAuto}).summary.skipped == 0);
}

TEST_CASE("fp8 is refused where the GPU has none, by name, capability and modes") {
    gpu::HostTwin device;
    CHECK_NOTHROW(require_mode(nullptr, PrecisionMode::kFp8));
    CHECK_NOTHROW(require_mode(&device, PrecisionMode::kFp8));
    auto& info = const_cast<gpu::DeviceInfo&>(device.info());  // the object itself is not const
    info.compute_capability = 89;
    CHECK_NOTHROW(require_mode(&device, PrecisionMode::kFp8));
    info.compute_capability = 86;
    CHECK(test::error_of(ExitCode::kUsage, [&] { require_mode(&device, PrecisionMode::kFp8); }) ==
          "precision.mode: fp8 is not for this device, host twin (compute capability 8.6); it runs fp32, "
          "tf32, amp_fp16, amp_bf16, fp16_pure (precision.fallback: true takes a wider one)");
    PrecisionConfig precision;
    precision.mode = PrecisionMode::kFp8;
    CHECK(mode_on(&device, precision) == PrecisionMode::kFp8);
    precision.fallback = true;
    CHECK(mode_on(&device, precision) == PrecisionMode::kAmpBf16);
    info.compute_capability = 75;
    CHECK(mode_on(&device, precision) == PrecisionMode::kFp32);
    precision.mode = PrecisionMode::kAmpFp16;
    CHECK(mode_on(&device, precision) == PrecisionMode::kAmpFp16);
}
