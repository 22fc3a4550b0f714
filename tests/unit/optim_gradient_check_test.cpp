#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/float_formats.h"
#include "core/philox.h"
#include "ops/gradient_check/gradient_check.h"
#include "support/op_run.h"

namespace mpt {

namespace {

using test::Buffer;
using test::Kernels;

constexpr std::int64_t kLengths[] = {1, 7, 8, 9, 31, 1023, 1024, 1025, 65537, (1 << 20) + 3};

void set(Buffer& buffer, std::int64_t i, float value) {
    if (buffer.type.dtype == DType::f32)
        buffer.as<float>()[i] = value;
    else if (buffer.type.dtype == DType::f16)
        buffer.as<f16>()[i] = f16(value);
    else
        buffer.as<bf16>()[i] = bf16(value);
}

float largest(DType dtype) {
    if (dtype == DType::f16) return 65504;
    return dtype == DType::bf16 ? bf16_value(0x7f7f) : std::numeric_limits<float>::max();
}

StepControl check(Buffer& gradient, Kernels kernels, int num_threads, float loss_scale = 1) {
    StepControl control;
    control.loss_scale = loss_scale;
    Buffer block(DType::u8, static_cast<std::int64_t>(sizeof control));
    std::memcpy(block.bytes.data(), &control, sizeof control);
    test::run_in_place(gradient_check_op, {}, {&gradient, &block}, kernels, num_threads);
    std::memcpy(&control, block.bytes.data(), sizeof control);
    return control;
}

}  // namespace

// H05
TEST_CASE("one bad element anywhere is found, the largest finite values are not taken for one") {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const std::int64_t length : kLengths) {
            CAPTURE(std::string(name_of(dtype)), length);
            Buffer gradient(dtype, length);
            for (std::int64_t i = 0; i < length; ++i)
                set(gradient, i, i % 2 == 0 ? largest(dtype) : -largest(dtype));
            const Kernels kernels = Kernels::kFast;
            const StepControl full = check(gradient, kernels, 2);
            REQUIRE(full.found_nonfinite == 0);
            const double norm = std::sqrt(static_cast<double>(length)) * static_cast<double>(largest(dtype));
            REQUIRE(full.gradient_norm == Approx(norm).epsilon(1e-12));
            for (const std::int64_t at : {std::int64_t{0}, length / 2, length - 1})
                for (const float bad : {inf, -inf, nan, -nan}) {
                    set(gradient, at, bad);
                    REQUIRE(check(gradient, kernels, 2).found_nonfinite == 1);
                    set(gradient, at, 1);
                    REQUIRE(check(gradient, kernels, 2).found_nonfinite == 0);
                }
        }
}

TEST_CASE("the reference kernel finds the same") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        Buffer gradient(dtype, 1025);
        for (std::int64_t i = 0; i < 1025; ++i) set(gradient, i, largest(dtype));
        CHECK(check(gradient, Kernels::kReference, 1).found_nonfinite == 0);
        set(gradient, 1024, -std::numeric_limits<float>::infinity());
        CHECK(check(gradient, Kernels::kReference, 1).found_nonfinite == 1);
    }
}

// Reference: the f64 loop of the reference kernel, which divides by the scale at the end as well.
TEST_CASE("the norm is that of the unscaled gradient and does not depend on the number of threads") {
    RandomStream random(5, RandomPurpose::kSample, 0);
    Buffer gradient(DType::f32, 100003);
    for (std::int64_t i = 0; i < 100003; ++i) gradient.as<float>()[i] = random.normal() * 64;
    const double expected = check(gradient, Kernels::kReference, 1, 64).gradient_norm;
    CHECK(expected == Approx(std::sqrt(100003.0)).epsilon(0.01));
    const double one = check(gradient, Kernels::kFast, 1, 64).gradient_norm;
    CHECK(one == Approx(expected).epsilon(1e-13));
    for (const int threads : {2, 3, 7})
        CHECK(check(gradient, Kernels::kFast, threads, 64).gradient_norm == one);
    gradient.as<float>()[0] = 0x1p-149f;  // no underflow of the square either
    for (std::int64_t i = 1; i < 100003; ++i) gradient.as<float>()[i] = 0;
    CHECK(check(gradient, Kernels::kFast, 2).gradient_norm == Approx(0x1p-149).epsilon(1e-12).margin(0));
}

}  // namespace mpt
