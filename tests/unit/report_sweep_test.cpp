// Grids and tables of sweeps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "core/error.h"
#include "report/sweep_table.h"

using namespace mpt;

namespace {

const std::vector<SweepAxis> kAxes = {{"train.batch_size", {"8", "16"}},
                                      {"precision.mode", {"fp32", "amp_fp16"}}};

std::vector<SweepRow> rows() {
    std::vector<SweepRow> all;
    const std::vector<SweepPoint> points = points_of(kAxes);
    for (std::size_t i = 0; i < points.size(); ++i) {
        SweepRow row;
        row.index = i;
        row.point = points[i];
        row.unit = "images";
        row.per_second = 100.0 + 10 * static_cast<double>(i);
        row.loss = 1.0 + static_cast<double>(i);
        row.seconds = 2;
        row.peak_mib = 512;
        all.push_back(row);
    }
    all[3].status = SweepStatus::kOutOfMemory;
    all[3].reason = "memory: \"too much\", says the plan";
    return all;
}

}  // namespace

TEST_CASE("axes are parted at commas outside brackets and quotes") {
    CHECK(parse_axis("train.batch_size=8,16").values == std::vector<std::string>{"8", "16"});
    CHECK(parse_axis("a=[1,2],[3,4]").values == std::vector<std::string>{"[1,2]", "[3,4]"});
    CHECK(parse_axis("a='x,y',z").values == std::vector<std::string>{"'x,y'", "z"});
    CHECK(parse_axis("a=b=c").key == "a");
    for (const char* bad : {"", "key", "=8", "a=", "a=1,,2", "a=1,"}) CHECK_THROWS_AS(parse_axis(bad), Error);
}

TEST_CASE("every combination occurs once, the last axis turns fastest") {
    CHECK(points_of(kAxes) ==
          std::vector<SweepPoint>{{"8", "fp32"}, {"8", "amp_fp16"}, {"16", "fp32"}, {"16", "amp_fp16"}});
    CHECK(folder_of(3, kAxes, {"16", "amp_fp16"}) == "003-train.batch_size=16,precision.mode=amp_fp16");
    CHECK(folder_of(0, {{"p", {"a/../b c"}}}, {"a/../b c"}).find('/') == std::string::npos);
}

TEST_CASE("a row survives its line, a torn line does not pass") {
    for (const SweepRow& row : rows()) {
        const SweepRow back = sweep_row(to_json(row));
        CHECK(to_json(back) == to_json(row));
        CHECK(back.status == row.status);
        CHECK(back.per_second == row.per_second);
    }
    const std::string line = to_json(rows()[0]);
    CHECK_THROWS(sweep_row(line.substr(0, line.size() / 2)));
    CHECK_THROWS(sweep_row("{}"));
}

TEST_CASE("the best row is an ok one, by the metric's own direction") {
    CHECK(best_row(rows(), SweepMetric::kThroughput) == 2);  // 3 is faster, but ran out of memory
    CHECK(best_row(rows(), SweepMetric::kLoss) == 0);
    CHECK_FALSE(best_row(rows(), SweepMetric::kTop1).has_value());
    CHECK_THROWS_AS(sweep_metric("speed"), Error);
}

TEST_CASE("tables hold every row and name the best and the largest") {
    const std::string table = markdown(kAxes, rows(), SweepMetric::kThroughput);
    CHECK(table.find("| 16 | fp32 | ok (best) | 120 |") != std::string::npos);
    CHECK(table.find("| 16 | amp_fp16 | out_of_memory |") != std::string::npos);
    CHECK(table.find("best by images/s: train.batch_size=16, precision.mode=fp32 (120)") !=
          std::string::npos);
    CHECK(table.find("largest train.batch_size that ran: 16") != std::string::npos);
    const std::string lines = csv(kAxes, rows());
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 5);
    CHECK(lines.find("\"exit") == std::string::npos);
    CHECK(lines.find("\"memory: \"\"too much\"\", says the plan\"") != std::string::npos);
    const std::string picture = plot(kAxes, rows(), SweepMetric::kThroughput);
    CHECK(picture.find("amp_fp16") != std::string::npos);
    CHECK(picture.find("train.batch_size") != std::string::npos);
}

TEST_CASE("a table has the scores that its models have, and no others") {
    std::vector<SweepRow> all = rows();
    CHECK(markdown(kAxes, all, SweepMetric::kLoss).find("| images/s | loss | peak MiB |") !=
          std::string::npos);
    all[0].perplexity = 3;
    all[1].bleu = 20.5;
    all[2].bleu = 10;
    const std::string table = markdown(kAxes, all, SweepMetric::kBleu);
    CHECK(table.find("| images/s | loss | perplexity | bleu | peak MiB |") != std::string::npos);
    CHECK(table.find("best by BLEU: train.batch_size=8, precision.mode=amp_fp16 (20.5)") !=
          std::string::npos);
    CHECK(csv(kAxes, all).find("unit,loss,perplexity,bleu,skipped,") != std::string::npos);
    CHECK(best_row(all, sweep_metric("bleu")) == 1);
    CHECK(sweep_row(to_json(all[1])).bleu == 20.5);
}

TEST_CASE("a value that an axis has twice is drawn twice") {
    const std::vector<SweepAxis> axes = {{"train.batch_size", {"8", "16", "8"}}};
    std::vector<SweepRow> all;
    for (const SweepPoint& point : points_of(axes)) {
        SweepRow row;
        row.index = all.size();
        row.point = point;
        row.per_second = 100;
        all.push_back(row);
    }
    const std::string picture = plot(axes, all, SweepMetric::kThroughput);
    std::set<std::string> places;
    for (std::size_t at = picture.find("<circle cx="); at != std::string::npos;
         at = picture.find("<circle cx=", at + 1))
        places.insert(picture.substr(at, picture.find(" cy=", at) - at));
    CHECK(places.size() == 3);
}
