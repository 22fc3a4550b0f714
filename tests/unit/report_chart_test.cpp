// Charts and pages: well-formed, self-contained, and holding the values they were given.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "report/html_report.h"
#include "report/svg_chart.h"
#include "support/scratch_folder.h"

using namespace mpt;

namespace {

std::size_t count(const std::string& text, const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("ticks are round and within the axis") {
    CHECK(nice_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
    CHECK(nice_ticks(-1, 1, 4) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
    CHECK(nice_ticks(3, 3, 4).empty());
    for (const double tick : nice_ticks(0.013, 0.987, 6)) CHECK((tick >= 0.013 && tick <= 0.987));
}

TEST_CASE("a curve has a point for each finite value and a gap where there is none") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Chart chart;
    chart.title = "a < b & c";
    chart.series = {{"one", {0, 1, 2, 3}, {1, 2, nan, 4}}};
    const std::string text = svg(chart);
    CHECK(count(text, "<circle") == 3);
    CHECK(count(text, "fill=\"none\" stroke=\"#0072b2\"") == 2);  // before and after the gap
    CHECK(text.find("a &lt; b &amp; c") != std::string::npos);
    CHECK(text.find("nan") == std::string::npos);
    CHECK(count(text, "<svg") == 1);
    CHECK(text.ends_with("</svg>\n"));
}

TEST_CASE("values at the ends of the range leave no infinite coordinates") {
    Chart chart;
    chart.series = {{"huge", {0, 1, 2, 1e308}, {1e308, -1e308, 3, 4}}};
    const std::string text = svg(chart);
    CHECK(count(text, "<circle") == 1);
    CHECK(text.find("nan") == std::string::npos);
    CHECK(text.find("inf") == std::string::npos);
}

TEST_CASE("a chart without values says so, and marks are drawn where they belong") {
    CHECK(svg({}).find("no values") != std::string::npos);
    Chart chart;
    chart.series = {{"scale", {0, 10}, {65536, 32768}}};
    chart.y_scale = ChartScale::kLog;
    chart.marks = {{5}, {99}};  // the second lies outside
    chart.marks_label = "skipped";
    CHECK(count(svg(chart), "stroke=\"#d00000\"") == 1);
}

TEST_CASE("a report of two runs has their curves, figures and differences, and fetches nothing") {
    const test::ScratchFolder folder;
    for (const char* name : {"a", "b"}) {
        std::filesystem::create_directories(folder.path() / name);
        std::ofstream metrics(folder.path() / name / "metrics.jsonl");
        const bool first = std::string(name) == "a";
        metrics << R"({"kind":"train","step":1,"loss":2.5,"lr":0.1,"loss_scale":65536,"skipped":0})"
                << "\n"
                << R"({"kind":"train","step":2,"loss":null,"lr":0.1,"loss_scale":32768,"skipped":1})"
                << "\n"
                << R"({"kind":"eval","step":2,"loss":2.0,"top1":)" << (first ? 0.25 : 0.5) << "}\n"
                << R"({"kind":"summary","end":"done","step":2,"loss":2.0,"top1":)" << (first ? 0.25 : 0.5)
                << ",\"skipped\":1}\n"
                << R"({"kind":"train","st)";
        std::ofstream config(folder.path() / name / "config.yaml");
        config << "train:\n  batch_size: " << (first ? 8 : 16) << "\n  epochs: 1\n";
    }
    const std::vector<RunRecord> runs = {read_run(folder.path() / "a"), read_run(folder.path() / "b")};
    CHECK(runs[0].train.rows == 2);
    CHECK(runs[0].skipped_at == std::vector<double>{2});
    CHECK(std::isnan(runs[0].train["loss"][1]));
    CHECK(runs[1].summary.at("end") == "done");
    const std::string page = html_report(runs, {});
    CHECK(count(page, "<svg") == 5);  // two losses, evaluation's accuracy, rate, scale
    CHECK(page.find("<td class=\"best\">50</td>") != std::string::npos);
    CHECK(page.find("<td>train.batch_size</td><td>8</td><td>16</td>") != std::string::npos);
    CHECK(count(page, "train.epochs<") == 0);  // the same in both
    for (const char* word : {"src=", "href=", "@import", "url("}) CHECK(count(page, word) == 0);
    CHECK(count(page, "http") == count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST_CASE("a run that has not ended stands in the table as such, with its last row") {
    const test::ScratchFolder folder;
    std::filesystem::create_directories(folder.path() / "on");
    std::ofstream(folder.path() / "on" / "metrics.jsonl")
        << R"({"kind":"train","step":7,"loss":2.5,"skipped":1})"
        << "\n"
        << R"({"kind":3,"step":8})"
        << "\n"  // of no kind that is known
        << R"({"kind":"eval","step":7,"loss":2.25,"top1":0.5})"
        << "\n"
        << R"({"kind":"train","step":8,"loss":)";
    const RunRecord run = read_run(folder.path() / "on");
    CHECK(run.train.rows == 1);
    CHECK(run.summary.at("end") == "not ended");
    CHECK(std::stod(run.summary.at("step")) == 7);
    CHECK(std::stod(run.summary.at("loss")) == 2.25);
    const std::string page = html_report({run}, {});
    CHECK(page.find("<td>not ended</td>") != std::string::npos);
    CHECK(page.find("<td>50</td>") != std::string::npos);
}

TEST_CASE("a folder without a run is refused by name") {
    const test::ScratchFolder folder;
    CHECK_THROWS_WITH(read_run(folder.path() / "none"), Catch::Contains("none/metrics.jsonl"));
    CHECK_THROWS_AS(read_run(folder.path()), Error);
}
