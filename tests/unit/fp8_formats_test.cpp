// e4m3 and e5m2, and how their scales follow a tensor. Reference: PyTorch's float8 types
// (scripts/golden/make_fp8_golden.py), values of arXiv:2209.05433 (table 1), scales by hand.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/dtype.h"
#include "core/float_formats.h"
#include "ops/quantize_fp8/scaling_rule.h"
#include "support/golden.h"

using namespace mpt;

namespace {

template <typename Q>
void check_against_torch(const nlohmann::json& format) {
    for (int code = 0; code < 256; ++code) {
        Q q;
        q.bits = static_cast<std::uint8_t>(code);
        const nlohmann::json& value = format["values"][static_cast<std::size_t>(code)];
        CAPTURE(code);
        if (value.is_null())
            CHECK_FALSE(std::isfinite(static_cast<float>(q)));
        else
            CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(q)) ==
                  std::bit_cast<std::uint32_t>(value.get<float>()));
    }
    const auto inputs = format["inputs"].get<std::vector<std::uint32_t>>();
    const auto rounded = format["rounded"].get<std::vector<int>>();
    REQUIRE(inputs.size() > 800);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const float value = std::bit_cast<float>(inputs[i]);
        CAPTURE(value);
        CHECK(static_cast<int>(Q(value).bits) == rounded[i]);
    }
}

}  // namespace

TEST_CASE("e4m3 and e5m2 decode and round as PyTorch's, and saturate") {
    const nlohmann::json golden = test::golden("torch_fp8");
    check_against_torch<e4m3>(golden["e4m3"]);
    check_against_torch<e5m2>(golden["e5m2"]);
}

TEST_CASE("the ends of the fp8 formats") {
    CHECK(e4m3_value(0x7e) == 448.0f);
    CHECK(e4m3_value(0x08) == 0x1p-6f);
    CHECK(e4m3_value(0x01) == 0x1p-9f);
    CHECK(e5m2_value(0x7b) == 57344.0f);
    CHECK(e5m2_value(0x04) == 0x1p-14f);
    CHECK(e5m2_value(0x01) == 0x1p-16f);
    // Ties to even: between 16 and 18 in e4m3, between 8 and 10 in e5m2.
    CHECK(static_cast<float>(e4m3(17)) == 16);
    CHECK(static_cast<float>(e4m3(19)) == 20);
    CHECK(static_cast<float>(e5m2(9)) == 8);
    CHECK(static_cast<float>(e5m2(11)) == 12);
    CHECK(e4m3(1e30f).bits == 0x7e);
    CHECK(e5m2(-1e30f).bits == 0xfb);
    CHECK(e4m3(-0.0f).bits == 0x80);
    for (const float wrong : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
        CHECK(std::isnan(static_cast<float>(e4m3(wrong))));
        CHECK(std::isnan(static_cast<float>(e5m2(wrong))));
    }
    CHECK(size_of(DType::e4m3) == 1);
    CHECK(dtype_named("e5m2") == DType::e5m2);
    CHECK((is_fp8(DType::e5m2) && is_float(DType::e4m3) && !is_narrow(DType::e4m3) && !is_fp8(DType::bf16)));
}

TEST_CASE("an fp8 scale is the largest power of two that keeps the greatest magnitude in the format") {
    const auto e4m3_scale = [](float amax, int margin = 0) {
        return scaling::scale_for(amax, kGreatestE4m3, margin);
    };
    CHECK(e4m3_scale(448) == 1);
    CHECK(e4m3_scale(std::nextafter(448.0f, 1e9f)) == 0.5f);
    CHECK(e4m3_scale(447) == 1);
    CHECK(e4m3_scale(224) == 2);
    CHECK(e4m3_scale(225) == 1);
    CHECK(e4m3_scale(1) == 256);
    CHECK(e4m3_scale(1, 3) == 32);
    CHECK(scaling::scale_for(1, kGreatestE5m2, 0) == 32768);
    // Neither the scale nor its inverse leaves the normal numbers.
    for (const float amax : {1e-45f, 1e-38f, std::numeric_limits<float>::max()}) {
        const float scale = e4m3_scale(amax);
        CHECK(std::isnormal(scale));
        CHECK(std::isnormal(1 / scale));
    }
    for (float amax = 1e-30f; amax < 1e30f; amax *= 1.37f) {
        const float scale = e4m3_scale(amax);
        CAPTURE(amax, scale);
        CHECK(amax * scale <= kGreatestE4m3);
        CHECK(2 * amax * scale > kGreatestE4m3);
    }
}
