// The commands around a run: plan, sweep, report, bench, as processes.
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "support/process.h"
#include "support/small_run.h"

using namespace mpt;
namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig =
    "model: {type: resnet, depth: 20, num_classes: 4}\n"
    "data: {type: synthetic, image_size: 8, channels: 1, num_samples: 20, workers: 0}\n"
    "train: {steps: 2, batch_size: 4, log_every: 1}\n"
    "optimizer: {type: sgd, lr: 0.01}\n"
    "threads: 1\n";

test::Finished call(const test::ScratchFolder& folder, std::vector<std::string> words) {
    if (!fs::exists(folder / "c.yaml")) test::write_file(folder / "c.yaml", kConfig);
    words.insert(words.begin() + 1, {"--config", (folder / "c.yaml").string()});
    return test::Process(folder.path(), words).wait();
}

std::int64_t count_lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

TEST_CASE("a plan is strict JSON, needs no data set and refuses what it does not know") {
    const test::ScratchFolder folder;
    const test::Finished plan = call(folder, {"plan", "--gpu", "a100", "--gpus", "4", "--json", "--set",
                                              "data.type=imagefolder", "data.path=/nowhere"});
    REQUIRE(plan.exit_code == 0);
    const auto json = nlohmann::json::parse(plan.out);
    CHECK(json.at("parameters").get<int>() > 100000);
    CHECK(json.at("scaling").at("rows").size() == 2);
    CHECK(json.at("memory").at("variants").size() == 12);  // and two op by op
    CHECK(json.at("audit").size() > 100);
    CHECK(call(folder, {"plan"}).exit_code == 0);
    const test::Finished unknown = call(folder, {"plan", "--gpu", "voodoo2"});
    CHECK(unknown.exit_code == 2);
    CHECK_THAT(unknown.err, Catch::Contains("no GPU 'voodoo2'"));
    CHECK(call(folder, {"plan", "--gpus", "2"}).exit_code == 2);
    CHECK(call(folder, {"plan", "--gpu", "a100", "--gpus", "2000000000"}).exit_code == 2);
    CHECK(call(folder, {"plan", "--gpu", "a100", "--link", "nvlink"}).exit_code == 2);
    CHECK(call(folder, {"plan", "--gpu", "a100", "--gpus", "2", "--link", "string"}).exit_code == 2);
    CHECK(call(folder, {"plan", "--memory", "much"}).exit_code == 2);
}

TEST_CASE(
    "a sweep with one combination that cannot fit has a row for each, and goes on where it was killed") {
    const test::ScratchFolder folder;
    const std::vector<std::string> words = {"sweep",
                                            "--over",
                                            "train.batch_size=4,8,1048576,2",
                                            "--over",
                                            "precision.mode=fp32,amp_fp16",
                                            "--set",
                                            "memory.limit=64MiB",
                                            "data.drop_last=false",
                                            "--out",
                                            (folder / "sweep").string()};
    if (!fs::exists(folder / "c.yaml")) test::write_file(folder / "c.yaml", kConfig);
    std::vector<std::string> full = words;
    full.insert(full.begin() + 1, {"--config", (folder / "c.yaml").string()});
    const fs::path rows = folder / "sweep" / "rows.jsonl";
    {  // killed once it has some rows
        test::Process half(folder.path(), full);
        while (!fs::exists(rows) || count_lines(test::file_text(rows)) < 3)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        half.signal(SIGKILL);
        half.wait();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // its last child ends by itself
    const std::string before = test::file_text(rows);
    REQUIRE(count_lines(before) < 8);
    const test::Finished finished = call(folder, words);
    CHECK(finished.exit_code == 0);
    const std::string after = test::file_text(rows);
    CHECK(count_lines(after) == 8);
    CHECK(after.substr(0, before.size()) == before);  // nothing was done twice
    std::istringstream lines(after);
    int ok = 0, too_large = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        ok += row.at("status") == "ok" ? 1 : 0;
        too_large += row.at("status") == "out_of_memory" ? 1 : 0;
        CHECK((row.at("point")[0] == "1048576") == (row.at("status") != "ok"));
    }
    CHECK(ok == 6);
    CHECK(too_large == 2);
    CHECK_THAT(finished.out, Catch::Contains("largest train.batch_size that ran: 8") &&
                                 Catch::Contains("best by images/s"));
    for (const char* name : {"sweep.csv", "sweep.json", "sweep.md", "sweep.svg"})
        CHECK(fs::exists(folder / "sweep" / name));
    CHECK(nlohmann::json::accept(test::file_text(folder / "sweep" / "sweep.json")));
    std::vector<std::string> other = words;
    other[2] = "train.batch_size=4";
    CHECK(call(folder, other).exit_code == 2);  // another sweep in the same directory
    test::write_file(folder / "c.yaml", std::string(kConfig) + "seed: 2\n");
    const test::Finished edited = call(folder, words);
    CHECK(edited.exit_code == 2);  // the same words, but rows of another config
    CHECK_THAT(edited.err, Catch::Contains("the config's text unchanged"));
}

TEST_CASE("a sweep of nothing that could run is refused at once, one wrong value is a row") {
    const test::ScratchFolder folder;
    const std::string out = (folder / "sweep").string();
    const test::Finished typo = call(folder, {"sweep", "--over", "train.batchsize=4,8", "--out", out});
    CHECK(typo.exit_code == 2);
    CHECK_THAT(typo.err, Catch::Contains("did you mean train.batch_size?"));
    CHECK_FALSE(fs::exists(out));
    const test::Finished twice =
        call(folder, {"sweep", "--over", "train.batch_size=4", "--over", "train.batch_size=8", "--out", out});
    CHECK(twice.exit_code == 2);
    CHECK_THAT(twice.err, Catch::Contains("already"));
    const test::Finished one = call(folder, {"sweep", "--over", "train.batch_size=many,4", "--out", out});
    CHECK(one.exit_code == 0);
    CHECK_THAT(one.out, Catch::Contains("many | failed") && Catch::Contains("4 | ok"));
}

TEST_CASE("a report of a run is one page with its memory") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.log.tensorboard = true;
    test::run(config);
    CHECK(std::distance(fs::directory_iterator(folder / "run" / "tensorboard"), {}) == 1);
    const test::Finished report = test::Process(folder.path(), {"report", (folder / "run").string(), "--out",
                                                                (folder / "r.html").string()})
                                      .wait();
    CHECK(report.exit_code == 0);
    CHECK(report.err.empty());
    const std::string page = test::file_text(folder / "r.html");
    CHECK(page.find("values alive, at most ") != std::string::npos);
    CHECK(page.find("training loss") != std::string::npos);
    fs::create_directories(folder / "other");
    fs::copy(folder / "run", folder / "other" / "run", fs::copy_options::recursive);
    REQUIRE(test::Process(folder.path(),
                          {"report", (folder / "run").string(), (folder / "other" / "run").string(), "--out",
                           (folder / "r2.html").string()})
                .wait()
                .exit_code == 0);
    CHECK(test::file_text(folder / "r2.html").find(">" + (folder / "other" / "run").string() + "<") !=
          std::string::npos);  // runs of one name by their paths
    CHECK(test::Process(folder.path(), {"report"}).wait().exit_code == 2);
    const std::string metrics = (folder / "run" / "metrics.jsonl").string();
    const std::string before = test::file_text(metrics);
    const test::Finished over =
        test::Process(folder.path(), {"report", (folder / "run").string(), "--out", metrics}).wait();
    CHECK(over.exit_code == 2);  // only pages are written over
    CHECK(test::file_text(metrics) == before);
    CHECK(test::Process(folder.path(),
                        {"report", (folder / "run").string(), "--out", (folder / "r.html").string()})
              .wait()
              .exit_code == 0);
    CHECK(test::Process(folder.path(), {"report", (folder / "none").string()}).wait().exit_code == 3);
    fs::create_directories(folder / "emptied");
    test::write_file(folder / "emptied" / "sweep_of.json", "{}");
    const test::Finished emptied =
        test::Process(folder.path(), {"report", (folder / "emptied").string()}).wait();
    CHECK(emptied.exit_code == 3);
    CHECK_THAT(emptied.err, Catch::Contains("no run of this sweep has metrics yet"));
}

TEST_CASE("a bench splits an update into parts that add up") {
    const test::ScratchFolder folder;
    const test::Finished finished = call(folder, {"bench", "--steps", "3", "--warmup", "1", "--json"});
    REQUIRE(finished.exit_code == 0);
    const auto json = nlohmann::json::parse(finished.out);
    REQUIRE(json.at("series").size() == 2);
    for (const auto& s : json.at("series")) {
        const double sum = s.at("wait_ms").get<double>() + s.at("forward_ms").get<double>() +
                           s.at("backward_ms").get<double>() + s.at("update_ms").get<double>() +
                           s.at("other_ms").get<double>();
        CHECK(sum == Approx(s.at("update_total_ms").get<double>()));
        CHECK(s.at("per_second_p5").get<double>() <= s.at("per_second_median").get<double>());
        CHECK(s.at("per_second_median").get<double>() <= s.at("per_second_p95").get<double>());
        CHECK(s.at("forward_ms").get<double>() > 0);
        CHECK(s.at("backward_ms").get<double>() > 0);
        CHECK(s.at("update_ms").get<double>() > 0);
    }
    CHECK(call(folder, {"bench", "--steps", "0"}).exit_code == 2);
}
