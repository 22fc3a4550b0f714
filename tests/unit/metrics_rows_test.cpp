// H50: every line of metrics.jsonl is strict JSON; what a resume keeps of it.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "metrics/json_lines.h"
#include "metrics/rows.h"
#include "support/errors.h"
#include "support/scratch_folder.h"

using namespace mpt;
using nlohmann::json;

TEST_CASE("non-finite numbers are null") {
    TrainRow row;
    row.step = 3;
    row.loss = std::numeric_limits<double>::quiet_NaN();
    row.grad_norm = std::numeric_limits<double>::infinity();
    row.lr = 0.1;
    const json parsed = json::parse(to_json(row));
    CHECK(parsed["kind"] == "train");
    CHECK(parsed["step"] == 3);
    CHECK(parsed["loss"].is_null());
    CHECK(parsed["grad_norm"].is_null());
    CHECK(parsed["lr"].get<double>() == 0.1);

    EvaluationRow evaluation;
    evaluation.loss = -std::numeric_limits<double>::infinity();
    CHECK(json::parse(to_json(evaluation))["loss"].is_null());

    SummaryRow summary;
    summary.per_sec_mean = std::numeric_limits<double>::quiet_NaN();
    const json ended = json::parse(to_json(summary));
    CHECK(ended["images_per_sec_mean"].is_null());
    CHECK(ended["best"].is_null());
    CHECK(ended["top1"].is_null());
}

TEST_CASE("paths with quotes, backslashes, line breaks, other scripts and broken UTF-8 are escaped") {
    for (const std::string path :
         {"/a \"b\"/c", "/a\\b", "/Ö 图片/x", "/line\nbreak\r\t", "/\x01\x1f", "/\xff\xfe"}) {
        SummaryRow row;
        row.checkpoint = path;
        const std::string line = to_json(row);
        CHECK(line.find('\n') == std::string::npos);
        const json parsed = json::parse(line);
        if (path.find('\xff') == std::string::npos) CHECK(parsed["checkpoint"].get<std::string>() == path);
    }
}

TEST_CASE("numbers come back to the bit") {
    TrainRow row;
    row.loss = 0.1 + 0.2;
    row.lr = 1e-300;
    const json parsed = json::parse(to_json(row));
    CHECK(parsed["loss"].get<double>() == 0.1 + 0.2);
    CHECK(parsed["lr"].get<double>() == 1e-300);
}

TEST_CASE("rows are appended, one a line") {
    const test::ScratchFolder folder;
    const std::string path = (folder / "metrics.jsonl").string();
    JsonLines(path).write("{\"a\":1}");
    JsonLines(path).write("{\"a\":2}");
    CHECK(test::file_text(path) == "{\"a\":1}\n{\"a\":2}\n");
}

TEST_CASE("a full disk and a missing folder are exit 6 and name the file") {
    JsonLines full("/dev/full");
    CHECK_THAT(test::error_of(ExitCode::kResource, [&] { full.write("{}"); }), Catch::Contains("/dev/full"));
    CHECK_THAT(test::error_of(ExitCode::kResource, [] { JsonLines("/nowhere/metrics.jsonl"); }),
               Catch::Contains("/nowhere/metrics.jsonl"));
}

TEST_CASE("a resume keeps the rows up to its checkpoint") {
    const std::string train1 = "{\"kind\":\"train\",\"step\":1}\n";
    const std::string train2 = "{\"kind\":\"train\",\"step\":2}\n";
    const std::string eval2 = "{\"kind\":\"eval\",\"step\":2}\n";
    const std::string later = "{\"kind\":\"train\",\"step\":3}\n";
    const std::string summary = "{\"kind\":\"summary\",\"step\":2}\n";
    const std::string torn = "{\"kind\":\"train\",\"st";
    const std::string text = train1 + train2 + eval2 + summary + later + torn;
    CHECK(rows_to_keep(text, {.step = 2}) == train1 + train2 + eval2);
    CHECK(rows_to_keep(text, {.step = 2, .interval_open = true}) == train1 + eval2);
    CHECK(rows_to_keep(text, {.step = 2, .evaluation_due = true}) == train1 + train2);
    CHECK(rows_to_keep(text, {.step = 0}).empty());
    CHECK(rows_to_keep(text, {.step = 9}) == train1 + train2 + eval2 + later);
}
