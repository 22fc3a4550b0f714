// Loss scaling as a run shows it: H01, H02, H03, H06, and H50 on runs that blow up.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/errors.h"
#include "support/small_run.h"
#include "train/checkpoint_store.h"

using namespace mpt;
using test::rows_of;

namespace {

RunConfig amp_config(const std::filesystem::path& output) {
    RunConfig config = test::small_config(output);
    config.precision.mode = PrecisionMode::kAmpFp16;
    return config;
}

void check_counts(const test::Rows& rows) {
    for (const auto& row : rows)
        CHECK(row["attempted"].get<int>() == row["applied"].get<int>() + row["skipped"].get<int>());
}

}  // namespace

TEST_CASE("H02: the scale halves on overflow and doubles after 20 applied updates in a row") {
    const test::ScratchFolder folder;
    RunConfig config = amp_config(folder / "run");
    config.precision.loss_scale.init = 0x1p32;
    config.precision.loss_scale.ceiling = 0x1p40;
    config.precision.loss_scale.growth_interval = 20;
    config.train.steps = 200;
    test::run(config);
    const test::Rows rows = rows_of(folder / "run", "train");
    REQUIRE(rows.size() == 200);
    check_counts(rows);
    CHECK(rows[0]["loss_scale"].get<double>() == 0x1p32);
    int good = 0;
    int overflows = 0;
    int growths = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool skipped = rows[i]["skipped"].get<int>() > (i == 0 ? 0 : rows[i - 1]["skipped"].get<int>());
        overflows += skipped;
        good = skipped ? 0 : good + 1;
        double expected = rows[i]["loss_scale"].get<double>();
        if (skipped) expected /= 2;
        if (good == 20) {
            expected *= 2;
            good = 0;
            ++growths;
        }
        CHECK(rows[i]["good_steps"].get<int>() == good);
        if (i + 1 < rows.size()) CHECK(rows[i + 1]["loss_scale"].get<double>() == expected);
    }
    CHECK(overflows >= 1);
    CHECK(growths >= 1);
    const auto summary = rows_of(folder / "run", "summary").at(0);
    CHECK(summary["attempted"] == 200);
    CHECK(summary["skipped"] == overflows);
    CHECK(summary["applied"] == 200 - overflows);
}

TEST_CASE("H03: the growth counter survives a stop that falls between two growths") {
    const test::ScratchFolder folder;
    RunConfig straight = amp_config(folder / "straight");
    straight.precision.loss_scale.growth_interval = 25;
    straight.train.steps = 120;
    test::run(straight);

    RunConfig parts = straight;
    parts.output_dir = (folder / "parts").string();
    parts.train.steps = 60;  // 60 is no multiple of 25
    test::run(parts);
    parts.train.steps = 120;
    test::run(parts, {.resume = ResumeKind::kAuto});

    const test::Rows a = rows_of(folder / "straight", "train");
    const test::Rows b = rows_of(folder / "parts", "train");
    for (const char* name : {"step", "loss_scale", "good_steps", "applied", "skipped", "loss", "lr"})
        CHECK(test::column(a, name) == test::column(b, name));
    CHECK(a.back()["loss_scale"].get<double>() > a.front()["loss_scale"].get<double>());
}

TEST_CASE("H01: a hopeless run ends at the floor of the scale and keeps only finite checkpoints") {
    const test::ScratchFolder folder;
    RunConfig config = amp_config(folder / "run");
    config.optimizer.lr = 1e20;
    config.train.steps = 500;
    config.train.eval_every = {10, DurationUnit::kUpdates};
    config.checkpoint.every = {1, DurationUnit::kUpdates};
    const std::string text = test::error_of(ExitCode::kDivergence, [&] { test::run(config); });
    CHECK_THAT(text, Catch::Contains("update ") && Catch::Contains("loss scale ") &&
                         Catch::Contains("skipped in a row") && Catch::Contains("last finite loss"));
    const test::Rows rows = rows_of(folder / "run", "train");
    check_counts(rows);
    for (const auto& row : rows) CHECK(row["loss_scale"].get<double>() >= 1.0);
    CHECK(rows.size() < 60);
    const auto summary = rows_of(folder / "run", "summary").at(0);
    CHECK(summary["end"] == "diverged");
    for (const CheckpointHead& head : list_checkpoints(folder / "run/checkpoints")) {
        CHECK_NOTHROW(read_checkpoint(head.path));
        const SafetensorsFile weights(head.path / "weights.safetensors");
        for (const TensorEntry& entry : weights.tensors()) {
            if (entry.type != FileType::F32) continue;
            const auto bytes = weights.read(entry);
            const auto* values = reinterpret_cast<const float*>(bytes.data());
            for (std::int64_t i = 0; i < entry.shape.num_elements(); ++i) REQUIRE(std::isfinite(values[i]));
        }
    }
}

TEST_CASE("H06: bf16 has no scaling, and its skips are counted in the same way") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "good");
    config.precision.mode = PrecisionMode::kAmpBf16;
    config.train.steps = 10;
    test::run(config);
    for (const auto& row : rows_of(folder / "good", "train")) {
        CHECK(row["loss_scale"] == 1.0);
        CHECK(row["skipped"] == 0);
    }
    config.output_dir = (folder / "bad").string();
    config.optimizer.lr = 1e30;
    config.train.steps = 50;
    config.train.max_nonfinite = 6;
    CHECK_THAT(test::error_of(ExitCode::kDivergence, [&] { test::run(config); }), Catch::Contains("6 "));
    const test::Rows rows = rows_of(folder / "bad", "train");
    check_counts(rows);
    CHECK(rows.back()["skipped"].get<int>() >= 6);
    CHECK(rows.size() < 20);
}
