// Checkpoints are whole or not there, damaged ones are noticed, the right ones are kept (H01, H30, H34).
#include "train/checkpoint_store.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <limits>
#include <set>

#include "support/errors.h"
#include "support/scratch_folder.h"
#include "support/small_store.h"

using namespace mpt;
namespace fs = std::filesystem;

namespace {

TrainingState state_at(std::int64_t step) {
    TrainingState state;
    state.seed = 0xFFFFFFFFFFFFFFFFull;
    state.position = {3, 17};
    state.data = {{1000, 0xfedcba9876543210u}, {300, 7}};
    state.control.attempted = step;
    state.control.applied = step - 2;
    state.control.skipped = 2;
    state.control.growth_counter = 11;
    state.control.loss_scale = 4294967296.0f;
    state.control.gradient_norm = std::numeric_limits<double>::infinity();
    state.control.learning_rate = 0.1 / 3;
    state.control.hysteresis_left = 2;
    state.micro_steps = 4 * step;
    state.last_finite_loss = 1.0 / 3;
    state.loss = {std::numeric_limits<double>::quiet_NaN(), 3};
    state.best = {0.75, 200, 1, 0.5};
    state.class_names = {"T-shirt", "Ö \"图片\""};
    state.normalization = {{0.1f, 1.0f / 3}, {0.7f, 1e-7f}};
    return state;
}

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

void flip_bit(const fs::path& path, std::size_t at) {
    std::string bytes = test::file_text(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    test::write_file(path, bytes);
}

}  // namespace

TEST_CASE("the state comes back field by field, non-finite numbers included") {
    const TrainingState state = state_at(100);
    const TrainingState back = training_state_from_json(to_json(state), "test");
    CHECK(back.seed == state.seed);
    CHECK(back.position == state.position);
    CHECK(back.control == state.control);
    CHECK(back.best == state.best);
    CHECK(back.micro_steps == 400);
    CHECK(back.last_finite_loss == state.last_finite_loss);
    CHECK(std::isnan(back.loss.sum));
    CHECK(back.loss.count == 3);
    CHECK(back.class_names == state.class_names);
    CHECK(back.data.training.fingerprint == 0xfedcba9876543210u);
    CHECK(back.data.validation.num_samples == 300);
    CHECK(back.normalization.mean == state.normalization.mean);
    CHECK(back.normalization.stddev == state.normalization.stddev);
    CHECK(to_json(back) == to_json(state));
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [] { training_state_from_json("{}", "state.json"); }),
               Catch::StartsWith("state.json: "));
}

TEST_CASE("a checkpoint comes back to the bit") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore checkpoints(folder.path(), "run-a", 3);
    const fs::path path = checkpoints.save(state_at(200), store.view(), "seed: 1\n");
    CHECK(path.filename() == "step-00000200");
    CHECK(fs::read_symlink(folder / "best") == "step-00000200");
    const Checkpoint checkpoint = read_checkpoint(path);
    CHECK(checkpoint.config == "seed: 1\n");
    CHECK(checkpoint.head.run_id == "run-a");
    test::SmallStore other;
    read_regions(checkpoint, other.view());
    CHECK(other.equals(store));
}

TEST_CASE("every damaged or missing file is noticed; the one before is used") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore checkpoints(folder.path(), "run-a", std::nullopt);
    checkpoints.save(state_at(1), store.view(), "a");
    const fs::path newest = checkpoints.save(state_at(2), store.view(), "a");
    CHECK(newest_checkpoint(folder.path(), "run-a").checkpoint->head.step == 2);
    for (const std::string& name : names_in(newest)) {
        const std::string good = test::file_text(newest / name);
        const auto check_fallback = [&] {
            const NewestCheckpoint found = newest_checkpoint(folder.path(), "run-a");
            CHECK(found.checkpoint->head.step == 1);
            REQUIRE(found.complaints.size() == 1);
            CHECK_THAT(found.complaints[0], Catch::Contains("step-00000002"));
            test::error_of(ExitCode::kCheckpoint, [&] { read_checkpoint(newest); });
        };
        if (name != "manifest.json") {
            flip_bit(newest / name, good.size() / 2);
            check_fallback();
        }
        test::write_file(newest / name, good.substr(0, good.size() / 2));
        check_fallback();
        fs::remove(newest / name);
        check_fallback();
        test::write_file(newest / name, good);
    }
    CHECK(newest_checkpoint(folder.path(), "run-a").checkpoint->head.step == 2);
}

TEST_CASE("only damaged ones is an error, none at all is not") {
    const test::ScratchFolder folder;
    CHECK_FALSE(newest_checkpoint(folder.path(), "x").checkpoint.has_value());
    CHECK_FALSE(newest_checkpoint(folder / "missing", "x").checkpoint.has_value());
    fs::create_directory(folder / "step-00000001");
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [&] { newest_checkpoint(folder.path(), "x"); }),
               Catch::Contains("step-00000001: not a checkpoint"));
}

TEST_CASE("keep 3 of 12 with the best at 200; an older run's 5000 stays") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore older(folder.path(), "run-old", std::nullopt);
    older.save(state_at(5000), store.view(), "a");
    CheckpointStore checkpoints(folder.path(), "run-new", 3);
    for (std::int64_t step = 100; step <= 1200; step += 100) {
        TrainingState state = state_at(step);
        if (step == 100) state.best = {};
        checkpoints.save(state, store.view(), "a");
    }
    CHECK(names_in(folder.path()) == std::set<std::string>{"step-00000200", "step-00001000", "step-00001100",
                                                           "step-00001200", "step-00005000", "best"});
    CHECK(newest_checkpoint(folder.path(), "run-new").checkpoint->head.step == 1200);
}

TEST_CASE("keep 1 keeps the newest and the best; unset keeps all") {
    const test::ScratchFolder one;
    const test::ScratchFolder all;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore keep_one(one.path(), "r", 1);
    CheckpointStore keep_all(all.path(), "r", std::nullopt);
    for (const std::int64_t step : {100, 200, 300, 400}) {
        keep_one.save(state_at(step), store.view(), "a");
        keep_all.save(state_at(step), store.view(), "a");
    }
    CHECK(names_in(one.path()) == std::set<std::string>{"step-00000200", "step-00000400", "best"});
    CHECK(names_in(all.path()).size() == 5);
}

TEST_CASE("going back and on again: the newest is the one saved last") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore checkpoints(folder.path(), "r", 2);
    for (const std::int64_t step : {60, 70, 80, 61}) {
        TrainingState state = state_at(step);
        state.best = {};
        checkpoints.save(state, store.view(), "a");
    }
    CHECK(names_in(folder.path()) == std::set<std::string>{"step-00000061", "step-00000080"});
    CHECK(newest_checkpoint(folder.path(), "r").checkpoint->head.step == 61);
}

TEST_CASE("saving over the same update replaces it whole") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore checkpoints(folder.path(), "r", 1);
    checkpoints.save(state_at(5), store.view(), "first");
    store.fill(2);
    const fs::path path = checkpoints.save(state_at(5), store.view(), "second");
    test::SmallStore other;
    read_regions(read_checkpoint(path), other.view());
    CHECK(other.equals(store));
    CHECK(read_checkpoint(path).config == "second");
    CHECK(names_in(folder.path()) == std::set<std::string>{"step-00000005"});
}

TEST_CASE("leftovers of every moment of a save are ignored and cleaned") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore checkpoints(folder.path(), "r", 3);
    checkpoints.save(state_at(5), store.view(), "a");
    const auto copy = [&](const std::string& name) {
        fs::copy(folder / "step-00000005", folder / name, fs::copy_options::recursive);
    };
    copy(".saving-step-00000006");
    fs::remove(folder / ".saving-step-00000006/manifest.json");
    copy(".removing-step-00000004");
    copy(".replaced-step-00000005");
    CHECK(newest_checkpoint(folder.path(), "r").checkpoint->head.step == 5);
    CHECK(checkpoints.clean_up() == 3);
    CHECK(names_in(folder.path()) == std::set<std::string>{"step-00000005"});

    // Killed between the two renames: the old one gets its name back.
    fs::rename(folder / "step-00000005", folder / ".replaced-step-00000005");
    checkpoints.clean_up();
    CHECK(names_in(folder.path()) == std::set<std::string>{"step-00000005"});
    CHECK_NOTHROW(read_checkpoint(folder / "step-00000005"));
}

TEST_CASE("a full disk is exit 6; the old checkpoint is intact and nothing is left over") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    store.fill(1);
    CheckpointStore checkpoints(folder.path(), "r", 1);
    const fs::path path = checkpoints.save(state_at(5), store.view(), "a");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t limit : {0, 100, 800}) {  // in the middle of different files
        const rlimit small{limit, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        std::string text;
        int code = 0;
        try {
            checkpoints.save(state_at(6), store.view(), "a");
        } catch (const Error& error) {
            text = error.what();
            code = static_cast<int>(error.code());
        }
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK(code == 6);
        CHECK_THAT(text, Catch::Contains("step-00000006") && Catch::Contains("cannot write"));
        CHECK(names_in(folder.path()) == std::set<std::string>{"step-00000005"});
        CHECK_NOTHROW(read_checkpoint(path));
    }
    std::signal(SIGXFSZ, old_handler);
}

TEST_CASE("weights, moments, average and statistics that are not finite are found before a save") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto& [region, name] :
         {std::pair{Region::kMaster, "conv1.weight"}, std::pair{Region::kMoment1, "moment1.conv1.weight"},
          std::pair{Region::kEma, "ema.conv1.weight"}, std::pair{Region::kStatistics, "bn1.running_mean"}}) {
        test::SmallStore store;
        store.fill(1);
        CHECK(first_nonfinite(store.view()).empty());
        store.set(region, 0, nan);
        CHECK(first_nonfinite(store.view()) == name);
    }
}
