// LARS and LAMB against their papers' algorithms, written out in f64 here, and the moving average.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/float_formats.h"
#include "ops/ema_update/ema_update.h"
#include "ops/lamb_update/lamb_update.h"
#include "ops/lars_update/lars_update.h"
#include "support/op_run.h"

namespace mpt {

namespace {

using test::Buffer;
using test::Kernels;
using Vector = std::vector<double>;

constexpr std::size_t kCount = 3001;

double norm(const Vector& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

Vector weights() {
    Vector w(kCount);
    for (std::size_t i = 0; i < kCount; ++i) w[i] = std::sin(0.37 * static_cast<double>(i)) * 0.2;
    return w;
}

Vector gradient(int t) {
    Vector g(kCount);
    for (std::size_t i = 0; i < kCount; ++i) g[i] = std::cos(0.11 * static_cast<double>(i) + t) * 0.05;
    return g;
}

struct Run {
    Buffer master{DType::f32, kCount}, grad{DType::f32, kCount}, moment1{DType::f32, kCount},
        moment2{DType::f32, kCount}, control{DType::u8, static_cast<std::int64_t>(sizeof(StepControl))}, none;

    Run() {
        for (std::size_t i = 0; i < kCount; ++i) master.as<float>()[i] = static_cast<float>(weights()[i]);
    }
    void prepare(int t, double lr) {
        const Vector g = gradient(t);
        for (std::size_t i = 0; i < kCount; ++i) grad.as<float>()[i] = static_cast<float>(g[i] * 256);
        StepControl c;
        c.applied = t;
        c.learning_rate = lr;
        c.gradient_factor = 1.0f / 256;
        std::memcpy(control.bytes.data(), &c, sizeof c);
    }
    void check(const Vector& expected) {
        for (std::size_t i = 0; i < kCount; ++i)
            REQUIRE(static_cast<double>(master.as<float>()[i]) ==
                    Approx(expected[i]).epsilon(2e-6).margin(2e-7));
    }
};

const SegmentTable kWhole({{0, kCount, true}});

}  // namespace

// arXiv:1708.03888, algorithm 1: local rate = eta |w| / (|g| + beta |w|);
// v = m v + gamma * local rate * (g + beta w); w = w - v.
TEST_CASE("lars is algorithm 1 of its paper") {
    const double eta = 0.02, beta = 0.005, momentum = 0.9, gamma = 0.5;
    for (const Kernels kernels : {Kernels::kFast, Kernels::kReference}) {
        Run run;
        Vector w = weights(), v(kCount, 0.0);
        for (int t = 1; t <= 4; ++t) {
            run.prepare(t, gamma);
            test::run_in_place(lars_update_op, LarsUpdateAttributes{momentum, beta, eta, 0, kWhole},
                               {&run.master, &run.grad, &run.moment1, &run.none, &run.control}, kernels, 2);
            const Vector g = gradient(t);
            const double local = eta * norm(w) / (norm(g) + beta * norm(w));
            for (std::size_t i = 0; i < kCount; ++i) {
                v[i] = momentum * v[i] + gamma * local * (g[i] + beta * w[i]);
                w[i] -= v[i];
            }
            run.check(w);
        }
    }
    const LarsUpdateAttributes a{momentum, beta, eta, 0, kWhole};
    CHECK(lars_ratio(a, 0, 1) == 1);
    CHECK(lars_ratio(a, 1, 0) == 1);
    CHECK(lars_ratio(a, 2, 3) == Approx(eta * 2 / (3 + beta * 2)));
}

// arXiv:1904.00962, algorithm 2 with phi(z) = z.
TEST_CASE("lamb is algorithm 2 of its paper") {
    const double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-6, lambda = 0.01, eta = 0.02;
    for (const Kernels kernels : {Kernels::kFast, Kernels::kReference}) {
        Run run;
        Vector w = weights(), m(kCount, 0.0), v(kCount, 0.0), u(kCount, 0.0);
        for (int t = 1; t <= 4; ++t) {
            run.prepare(t, eta);
            test::run_in_place(lamb_update_op, LambUpdateAttributes{beta1, beta2, epsilon, lambda, kWhole},
                               {&run.master, &run.grad, &run.moment1, &run.moment2, &run.none, &run.control},
                               kernels, 2);
            const Vector g = gradient(t);
            for (std::size_t i = 0; i < kCount; ++i) {
                m[i] = beta1 * m[i] + (1 - beta1) * g[i];
                v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
                const double m_hat = m[i] / (1 - std::pow(beta1, t)), v_hat = v[i] / (1 - std::pow(beta2, t));
                u[i] = m_hat / (std::sqrt(v_hat) + epsilon) + lambda * w[i];
            }
            const double trust = norm(w) / norm(u);
            for (std::size_t i = 0; i < kCount; ++i) w[i] -= eta * trust * u[i];
            run.check(w);
        }
    }
    CHECK(lamb_ratio(0, 1) == 1);
    CHECK(lamb_ratio(1, 0) == 1);
    CHECK(lamb_ratio(6, 3) == 2);
}

// Exempt segments: no decay, ratio 1. LAMB's first step is then lr * sign(g), LARS's lr * g.
TEST_CASE("exempt segments take the plain rate") {
    const SegmentTable exempt({{0, kCount, false}});
    Run lars, lamb;
    for (Run* run : {&lars, &lamb}) run->prepare(1, 0.25);
    test::run_in_place(lars_update_op, LarsUpdateAttributes{0.9, 0.1, 0.001, 0, exempt},
                       {&lars.master, &lars.grad, &lars.moment1, &lars.none, &lars.control}, Kernels::kFast,
                       2);
    test::run_in_place(lamb_update_op, LambUpdateAttributes{0.9, 0.999, 1e-12, 0.1, exempt},
                       {&lamb.master, &lamb.grad, &lamb.moment1, &lamb.moment2, &lamb.none, &lamb.control},
                       Kernels::kFast, 2);
    Vector by_lars = weights(), by_lamb = weights();
    const Vector g = gradient(1);
    for (std::size_t i = 0; i < kCount; ++i) {
        by_lars[i] -= 0.25 * g[i];
        by_lamb[i] -= 0.25 * (g[i] > 0 ? 1 : -1);
    }
    lars.check(by_lars);
    lamb.check(by_lamb);
}

TEST_CASE("the moving average warms up, then keeps its decay, and rests on a skip") {
    CHECK(ema_decay(0.999, 1) == Approx(2.0 / 11));
    CHECK(ema_decay(0.999, 90) == Approx(0.91));
    CHECK(ema_decay(0.999, 1000000) == 0.999);
    for (const Kernels kernels : {Kernels::kFast, Kernels::kReference})
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
            constexpr std::int64_t n = 5003;
            Buffer ema(DType::f32, n), master(dtype, n), control(DType::u8, sizeof(StepControl));
            for (std::int64_t i = 0; i < n; ++i) {
                ema.as<float>()[i] = 8;
                if (dtype == DType::f32)
                    master.as<float>()[i] = 2;
                else
                    master.as<std::uint16_t>()[i] = dtype == DType::f16 ? f16_bits(2) : bf16_bits(2);
            }
            const auto step = [&](std::int64_t applied, int skip) {
                StepControl c;
                c.applied = applied;
                c.skip = skip;
                std::memcpy(control.bytes.data(), &c, sizeof c);
                test::run_in_place(ema_update_op, EmaUpdateAttributes{0.9}, {&ema, &master, &control},
                                   kernels, 3);
                return ema.as<float>()[n - 1];
            };
            CHECK(step(5, 1) == 8);
            CHECK(step(5, 0) == Approx(2 + 6 * 0.4));
            CHECK(step(1000, 0) == Approx(2 + 6 * 0.4 * 0.9));
            CHECK(ema.as<float>()[0] == ema.as<float>()[n - 1]);
        }
}

}  // namespace mpt
