// H49: a bar only on a terminal; no carriage return and no escape in redirected output.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "metrics/console.h"
#include "support/scratch_folder.h"

using namespace mpt;

namespace {

Progress some_progress(std::int64_t step) {
    Progress p;
    p.epoch = 1;
    p.num_epochs = 5;
    p.step = step;
    p.num_steps = 100;
    p.loss = 1.23456;
    p.top1 = 0.456;
    p.per_sec = 1234.4;
    p.eta_seconds = 75;
    return p;
}

std::string written(ProgressStyle style, int log_steps) {
    const test::ScratchFolder folder;
    const std::string path = (folder / "out").string();
    std::FILE* file = std::fopen(path.c_str(), "w");
    REQUIRE(file != nullptr);
    {
        Console console(file, style);
        console.line("begin");
        for (int i = 1; i <= log_steps; ++i) {
            console.update(some_progress(i));
            console.log_step(some_progress(i));
        }
        console.line("end");
    }
    std::fclose(file);
    return test::file_text(path);
}

}  // namespace

TEST_CASE("a file, a pipe and a dumb terminal get plain lines") {
    std::FILE* file = std::tmpfile();
    for (const auto wanted : {ProgressStyle::kAuto, ProgressStyle::kBar, ProgressStyle::kPlain})
        CHECK(possible_style(wanted, file) == ProgressStyle::kPlain);
    CHECK(possible_style(ProgressStyle::kQuiet, file) == ProgressStyle::kQuiet);
    std::fclose(file);
}

TEST_CASE("plain output is one line a log step without CR or escape") {
    const std::string text = written(ProgressStyle::kPlain, 3);
    CHECK(text.find('\r') == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 5);
    CHECK_THAT(text, Catch::Contains(
                         "epoch 1/5  update 2/100  loss 1.2346  top1 45.6 %  1234 images/s  eta 1:15\n"));
}

TEST_CASE("a bar is drawn over itself and cleared before a line, without escapes") {
    const std::string text = written(ProgressStyle::kBar, 1);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\repoch 1/5 [>") != std::string::npos);
    CHECK(text.ends_with("\rend\n"));
}

TEST_CASE("quiet is silent") {
    CHECK(written(ProgressStyle::kQuiet, 2).empty());
}

TEST_CASE("the bar fits its terminal") {
    for (const int columns : {1, 20, 79, 80, 90, 120, 300})
        for (const std::int64_t step : {0, 1, 50, 100})
            CHECK(static_cast<int>(print_bar(some_progress(step), columns).size()) <
                  columns + (columns == 0));
    CHECK_THAT(print_bar(some_progress(100), 130),
               Catch::StartsWith("epoch 1/5 [==============================] 100/100 loss"));
    CHECK_THAT(print_bar(some_progress(0), 130),
               Catch::StartsWith("epoch 1/5 [>                             ]"));
}

TEST_CASE("durations") {
    CHECK(print_duration(0) == "0:00");
    CHECK(print_duration(67.4) == "1:07");
    CHECK(print_duration(3723) == "1:02:03");
    CHECK(print_duration(std::numeric_limits<double>::quiet_NaN()) == "-");
    CHECK(print_duration(std::numeric_limits<double>::infinity()) == "-");
    CHECK(print_duration(-1) == "-");
}
