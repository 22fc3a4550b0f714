// Who went non-finite first, what values look like, and that looking changes nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "core/float_formats.h"
#include "core/philox.h"
#include "exec/executor.h"
#include "support/errors.h"
#include "support/small_run.h"
#include "train/divergence.h"
#include "train/histograms.h"
#include "train/training_program.h"

using namespace mpt;
namespace fs = std::filesystem;

namespace {

struct Batch {
    std::vector<std::uint8_t> images;
    std::vector<std::int32_t> labels;
    MicroBatch micro;
    explicit Batch(std::int64_t rows) {
        RandomStream random(3, RandomPurpose::kSynthetic, 0);
        for (std::int64_t i = 0; i < rows * 64; ++i)
            images.push_back(static_cast<std::uint8_t>(random.below(256)));
        for (std::int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(random.below(4)));
        micro.shape.rows = micro.weight = rows;
        micro.inputs = {graph_input<std::uint8_t>("images", images),
                        graph_input<std::int32_t>("labels", labels)};
    }
};

struct Fixture {
    RunConfig config;
    Batch batch{8};
    std::unique_ptr<TrainingProgram> program;
    explicit Fixture(PrecisionMode mode, std::int64_t accumulate = 1) {
        config.model.num_classes = 4;
        config.precision.mode = mode;
        config.train.batch_size = 8 * accumulate;
        config.train.accumulate = accumulate;
        DataDescription data;
        data.height = data.width = 8;
        data.channels = 1;
        data.num_classes = 4;
        data.micro_batch = {.rows = 8};
        program = std::make_unique<TrainingProgram>(config, data, 1);
        program->allocate();
        program->initialize(7);
    }
    void step() { program->run_micro_step(batch.micro, {8, 0}); }
};

void poison(std::byte* data, DType dtype) {
    if (dtype == DType::f32) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        std::memcpy(data, &nan, sizeof nan);
        return;
    }
    const std::uint16_t bits = dtype == DType::f16 ? std::uint16_t{0x7e00} : std::uint16_t{0x7fc0};
    std::memcpy(data, &bits, sizeof bits);
}

}  // namespace

TEST_CASE("a NaN planted in what a node makes is named with its op and its half of the step") {
    for (const PrecisionMode mode :
         {PrecisionMode::kFp32, PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16}) {
        Fixture fixture(mode);
        fixture.step();
        REQUIRE(fixture.program->first_nonfinite(1).empty());
        // The normalised input, eight values all over both halves, and the loss.
        std::vector<std::string> names;
        std::string loss;
        fixture.program->observe([&](const Executor& executor, const PlannedStep& step) {
            const Graph& graph = executor.plan().graph;
            const ValueId out = graph.node(step.node).outputs[0];
            if (!is_float(graph.type(out).dtype)) return;
            names.push_back(graph.value(out).name);
            if (out == graph.output("loss_sum")) loss = names.back();
        });
        fixture.step();
        REQUIRE(names.size() > 40);
        std::set<std::string> places = {names.front(), loss};
        for (std::size_t k = 1; k <= 8; ++k) places.insert(names[k * (names.size() - 1) / 9]);
        REQUIRE(places.size() == 10);
        for (const std::string& place : places) {
            CAPTURE(name_of(mode), place);
            fixture.program->observe([&](const Executor& executor, const PlannedStep& step) {
                const Graph& graph = executor.plan().graph;
                const ValueId out = graph.node(step.node).outputs[0];
                if (graph.value(out).name == place) poison(executor.address(out), graph.type(out).dtype);
            });
            const std::string first = fixture.program->first_nonfinite(1);
            CHECK_THAT(first, Catch::StartsWith(place + " (") && Catch::Contains(": 1 of "));
        }
        fixture.program->observe({});
        CHECK(fixture.program->first_nonfinite(1).empty());
    }
}

TEST_CASE("a NaN in a weight is named as the weight, before what it spoils") {
    Fixture fixture(PrecisionMode::kFp32);
    fixture.step();
    const VariableTable& table = fixture.program->variables();
    for (const char* name : {"conv1.weight", "layer2.0.conv1.weight", "fc.bias"}) {
        CAPTURE(name);
        const int index = table.find(name);
        REQUIRE(index >= 0);
        float* weight =
            reinterpret_cast<float*>(fixture.program->region(Region::kMaster)) + table[index].offset;
        const float kept = *weight;
        *weight = std::numeric_limits<float>::infinity();
        CHECK_THAT(fixture.program->first_nonfinite(1),
                   Catch::StartsWith(std::string(name) + " (stored, read by ") && Catch::Contains("1 of "));
        *weight = kept;
    }
}

TEST_CASE("a NaN in running statistics is named as stored, not as the update's output") {
    Fixture fixture(PrecisionMode::kFp32);
    fixture.step();
    const int index = fixture.program->variables().find("layer2.0.bn1.running_var");
    REQUIRE(index >= 0);
    float* statistics = reinterpret_cast<float*>(fixture.program->region(Region::kStatistics));
    statistics[fixture.program->variables()[index].offset] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THAT(fixture.program->first_nonfinite(1),
               Catch::StartsWith("layer2.0.bn1.running_var (stored, read by ") && Catch::Contains("1 of "));
}

TEST_CASE("looking changes nothing: gradients, statistics and control stay to the bit") {
    Fixture fixture(PrecisionMode::kAmpFp16);
    fixture.step();
    const auto bytes_of = [&](Region region) {
        const std::byte* from = fixture.program->region(region);
        return std::vector<std::byte>(from, from + fixture.program->variables().region_bytes(region));
    };
    const auto gradient = bytes_of(Region::kGradient), statistics = bytes_of(Region::kStatistics);
    const StepControl control = fixture.program->control();
    look_at_values(*fixture.program, 1024);
    fixture.program->first_nonfinite(0x1p30F);
    CHECK(bytes_of(Region::kGradient) == gradient);
    CHECK(bytes_of(Region::kStatistics) == statistics);
    CHECK(fixture.program->control() == control);
}

TEST_CASE("an overflow is found at the scale it happened at") {
    Fixture fixture(PrecisionMode::kAmpFp16);
    fixture.step();
    CHECK(fixture.program->first_nonfinite(1024).empty());
    CHECK_THAT(fixture.program->first_nonfinite(0x1p40F), Catch::Contains("backward, f16"));
}

TEST_CASE("a forward half that overflows f16, and gradients that do at the least scale, are told apart") {
    Fixture fixture(PrecisionMode::kAmpFp16);
    fixture.step();
    const int conv = fixture.program->variables().find("conv1.weight");
    REQUIRE(conv >= 0);
    const Variable& weight = fixture.program->variables()[conv];
    float* values = reinterpret_cast<float*>(fixture.program->region(Region::kMaster)) + weight.offset;
    for (std::int64_t i = 0; i < weight.num_elements(); ++i) values[i] *= 65504 / 0.5F;  // still f16
    fixture.program->weights_changed();
    const NonFinitePlace forward = fixture.program->first_nonfinite_place(1);
    CAPTURE(forward.text);
    CHECK_THAT(forward.text, Catch::StartsWith("conv1 (") && Catch::Contains("forward"));
    CHECK(divergence_cause({3, 1.4, 1.4}, forward) == DivergenceCause::kForward);

    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.precision.mode = PrecisionMode::kAmpFp16;
    config.precision.loss_scale.preset = LossScalePreset::kStatic;
    config.precision.loss_scale.init = 0x1p40;
    config.train.steps = 50;
    config.train.max_nonfinite = 5;
    CHECK_THAT(test::error_of(ExitCode::kDivergence, [&] { test::run(config); }),
               Catch::Contains("cause: gradients overflow f16 even at loss scale") &&
                   Catch::Contains("backward, f16"));
}

TEST_CASE("a run's recommended scale removes the underflow that it reported") {
    const test::ScratchFolder folder;
    const auto last_scale = [&](const char* name, double scale) {
        RunConfig config = test::small_config(folder / name);
        config.precision.mode = PrecisionMode::kAmpFp16;
        config.precision.loss_scale.preset = LossScalePreset::kStatic;
        config.precision.loss_scale.init = scale;
        config.optimizer.lr = 1e-4;
        config.debug.histograms_every = 4;
        test::run(config);
        nlohmann::json found;
        std::istringstream lines(test::file_text(folder / name / "histograms.jsonl"));
        for (std::string line; std::getline(lines, line);)
            if (const auto row = nlohmann::json::parse(line); row.at("kind") == "scale") found = row;
        return found;
    };
    const auto before = last_scale("tiny", 0x1p-14);
    const auto after = last_scale("mended", before.at("recommended_loss_scale").get<double>());
    CAPTURE(before.dump(), after.dump());
    CHECK(before.at("flushed").get<double>() > 0.02);
    CHECK(after.at("flushed").get<double>() < 0.1 * before.at("flushed").get<double>());
    CHECK(after.at("flushed").get<double>() < 0.002);
}

TEST_CASE("a micro-step of several leaves a flag over what it made") {
    Fixture fixture(PrecisionMode::kAmpFp16, 2);
    CHECK(fixture.program->run_micro_step(fixture.batch.micro, {16, 0}).finite);
    StepControl control = fixture.program->control();
    control.loss_scale = 0x1p40F;  // overflows the backward half alone
    fixture.program->set_control(control);
    const BatchResult overflowed = fixture.program->run_micro_step(fixture.batch.micro, {16, 1});
    CHECK(std::isfinite(overflowed.loss_sum));
    CHECK_FALSE(overflowed.finite);
}

TEST_CASE("statistics of a tensor by hand") {
    const std::vector<float> values = {0, 1, -1.5F, 4, 0x1p-20F, INFINITY, NAN, -0.0F};
    const ValueStatistics s =
        statistics_of(reinterpret_cast<const std::byte*>(values.data()), {{8}, DType::f32});
    CHECK(s.zeros == 2);
    CHECK(s.nonfinite == 2);
    CHECK(s.subnormal == 1);
    CHECK(s.max_abs == 4);
    CHECK(s.min_abs == 0x1p-20);
    CHECK(s.headroom_bits() == Approx(std::log2(65504.0 / 4)));
    const auto bin = [&](int e) {
        return s.exponents[static_cast<std::size_t>(e - ValueStatistics::kLowest)];
    };
    CHECK(bin(0) == 2);
    CHECK(bin(2) == 1);
    CHECK(bin(-20) == 1);
}

// The share of f16 gradients that a smaller scale would flush, by exponents alone: f16 rounds what is below
// 2^-25 to zero.
double flushed_by_exponents(const HistogramReport& report, float scale) {
    const int shift = std::ilogb(report.loss_scale / scale);
    double lost = 0, elements = 0;
    for (const ValueHistogram& value : report.values) {
        if (value.phase != "backward" || value.dtype != "f16") continue;
        elements += static_cast<double>(value.statistics.elements);
        for (int e = ValueStatistics::kLowest; e < shift - 25; ++e)
            lost += static_cast<double>(
                value.statistics.exponents[static_cast<std::size_t>(e - ValueStatistics::kLowest)]);
    }
    return lost / elements;
}

TEST_CASE("flushed gradients are those the exponents foretell, and the recommended scale brings them back") {
    Fixture fixture(PrecisionMode::kAmpFp16);
    fixture.step();
    const HistogramReport before = look_at_values(*fixture.program, 0x1p-16F);
    REQUIRE(before.recommended.has_value());
    CHECK(before.flushed > 0.05);
    CHECK_FALSE(before.worst.empty());
    const HistogramReport after = look_at_values(*fixture.program, *before.recommended);
    CHECK(after.flushed < 0.002);
    CHECK(*after.recommended == *before.recommended);
    for (const ValueHistogram& value : after.values) CHECK(value.statistics.nonfinite == 0);
    // Closely while few are lost: gradients made of flushed ones are not counted by the exponents.
    for (const float scale : {0x1p-10F, 0x1p-13F})
        CHECK(look_at_values(*fixture.program, scale).flushed ==
              Approx(flushed_by_exponents(after, scale)).epsilon(0.15));
    CHECK(*look_at_values(*fixture.program, 0x1p40F).recommended < 0x1p40F);
    CHECK_FALSE(look_at_values(*Fixture(PrecisionMode::kFp32).program, 1).recommended.has_value());
}

TEST_CASE("a run writes histograms, a profile and a trace when asked to") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.precision.mode = PrecisionMode::kAmpFp16;
    config.debug.histograms_every = 2;
    config.debug.profile = 2;
    config.train.accumulate = 2;
    test::run(config);
    std::istringstream lines(test::file_text(folder / "run" / "histograms.jsonl"));
    std::set<std::int64_t> steps;
    int scales = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        steps.insert(row.at("step").get<std::int64_t>());
        scales += row.at("kind") == "scale" ? 1 : 0;
    }
    CHECK(steps == std::set<std::int64_t>{2, 4});
    CHECK(scales == 2);
    CHECK(test::file_text(folder / "run" / "profile.txt").find("all nodes") != std::string::npos);
    const auto trace = nlohmann::json::parse(test::file_text(folder / "run" / "trace.json"));
    CHECK(trace.at("traceEvents").size() > 100);
    // The same run without looking has the same rows.
    RunConfig plain = config;
    plain.output_dir = (folder / "plain").string();
    plain.debug.histograms_every = plain.debug.profile = 0;
    test::run(plain);
    CHECK(test::column(test::rows_of(folder / "run", "train"), "loss") ==
          test::column(test::rows_of(folder / "plain", "train"), "loss"));
}

TEST_CASE("a profile of more updates than a run has, and of what is left of a resumed one, is written") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.debug.profile = 50;
    test::run(config);
    const fs::path table = folder / "run" / "profile.txt";
    CHECK(test::file_text(table).find("conv1") != std::string::npos);
    fs::remove(table);
    config.train.steps = 8;
    config.debug.profile = 1;
    test::run(config, {.resume = ResumeKind::kAuto});
    CHECK(test::file_text(table).find("conv1") != std::string::npos);
}

TEST_CASE("a skipped update names what overflowed first, with its micro-step") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.precision.mode = PrecisionMode::kAmpFp16;
    config.precision.loss_scale.init = 0x1p40;
    config.precision.loss_scale.ceiling = 0x1p45;
    config.train.accumulate = 2;
    test::run(config);
    const std::string log = test::file_text(folder / "run" / "log.txt");
    CHECK(log.find("first not finite: micro-step 1: ") != std::string::npos);
    CHECK(log.find(", backward, f16[") != std::string::npos);
}
