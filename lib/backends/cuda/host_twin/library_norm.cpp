// cuDNN's batch norm by plain loops.
#include <cmath>
#include <cstdint>

#include "backends/cuda/host_twin/library_calls.h"
#include "backends/cuda/host_twin/stored_values.h"

namespace mpt::gpu {

namespace {

struct Channel {
    const NormSpec& s;
    std::int64_t c;
    std::int64_t rows() const { return s.n * s.h * s.w; }
    std::size_t at(std::int64_t row) const { return static_cast<std::size_t>(row * s.c + c); }
    double value(const void* data, std::int64_t row) const {
        return static_cast<double>(value_at(data, s.dtype, at(row)));
    }
    void store(void* data, std::int64_t row, double value) const {
        store_at(data, s.dtype, at(row), static_cast<float>(value));
    }
    template <typename F>
    double average(const F& of) const {
        double sum = 0;
        for (std::int64_t row = 0; row < rows(); ++row) sum += of(row);
        return sum / static_cast<double>(rows());
    }
};

void norm(const Channel& ch, const NormArgs& a) {
    const std::int64_t c = ch.c;
    const double mean = ch.average([&](std::int64_t row) { return ch.value(a.x, row); });
    const double variance = ch.average([&](std::int64_t row) {
        const double centred = ch.value(a.x, row) - mean;
        return centred * centred;
    });
    const double rstd = 1 / std::sqrt(variance + ch.s.epsilon);
    for (std::int64_t row = 0; row < ch.rows(); ++row) {
        double y = static_cast<double>(a.gamma[c]) * (ch.value(a.x, row) - mean) * rstd +
                   static_cast<double>(a.beta[c]);
        if (ch.s.add) y += ch.value(a.addend, row);
        ch.store(a.result, row, ch.s.relu && y < 0 ? 0 : y);
    }
    a.mean[c] = static_cast<float>(mean);
    a.rstd[c] = static_cast<float>(rstd);
}

void norm_backward(const Channel& ch, const NormArgs& a) {
    const std::int64_t c = ch.c;
    const auto mean = static_cast<double>(a.mean[c]), rstd = static_cast<double>(a.rstd[c]);
    const auto normed = [&](std::int64_t row) { return (ch.value(a.x, row) - mean) * rstd; };
    const double average = ch.average([&](std::int64_t row) { return ch.value(a.grad_y, row); });
    const double slope = ch.average([&](std::int64_t row) { return ch.value(a.grad_y, row) * normed(row); });
    for (std::int64_t row = 0; row < ch.rows(); ++row)
        ch.store(a.result, row,
                 static_cast<double>(a.gamma[c]) * rstd *
                     (ch.value(a.grad_y, row) - average - normed(row) * slope));
    a.grad_gamma[c] = static_cast<float>(slope * static_cast<double>(ch.rows()));
    a.grad_beta[c] = static_cast<float>(average * static_cast<double>(ch.rows()));
}

}  // namespace

void host_norm(const NormSpec& s, const NormArgs& args) {
    for (std::int64_t c = 0; c < s.c; ++c) (s.backward ? norm_backward : norm)({s, c}, args);
}

}  // namespace mpt::gpu
