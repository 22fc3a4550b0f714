#include "ops/conv2d/conv2d.h"
#include "ops/reference.h"

namespace mpt {

namespace {

// The places of a convolution; for each term of its sum, body(place in y, in x, in w).
struct Places {
    Shape x, w, y;
    std::int64_t stride, pad;

    template <typename F>
    void for_each_term(const F& body) const {
        for (std::int64_t n = 0; n < y[0]; ++n)
            for (std::int64_t p = 0; p < y[1]; ++p)
                for (std::int64_t q = 0; q < y[2]; ++q)
                    for (std::int64_t r = 0; r < w[1]; ++r)
                        for (std::int64_t t = 0; t < w[2]; ++t) {
                            const std::int64_t h = p * stride - pad + r, v = q * stride - pad + t;
                            if (h >= 0 && h < x[1] && v >= 0 && v < x[2])
                                for_each_channel(((n * y[1] + p) * y[2] + q) * y[3],
                                                 ((n * x[1] + h) * x[2] + v) * x[3], (r * w[2] + t) * w[3],
                                                 body);
                        }
    }

  private:
    template <typename F>
    void for_each_channel(std::int64_t y_at, std::int64_t x_at, std::int64_t w_at, const F& body) const {
        const std::int64_t filter = w[1] * w[2] * w[3];
        for (std::int64_t k = 0; k < w[0]; ++k)
            for (std::int64_t c = 0; c < w[3]; ++c)
                body(static_cast<std::size_t>(y_at + k), static_cast<std::size_t>(x_at + c),
                     static_cast<std::size_t>(k * filter + w_at + c));
    }
};

void store(const reference::Tensor& to, const std::vector<double>& values) {
    for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, values[static_cast<std::size_t>(i)]);
}

void run_conv2d(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<Conv2dAttributes>();
    const auto y = reference::output(s, args, 0);
    const std::vector<double> x = reference::input(s, args, 0).values();
    const std::vector<double> w = reference::input(s, args, 1).values();
    std::vector<double> sums(static_cast<std::size_t>(y.size()));
    const Places places{s.in(0).shape, s.in(1).shape, s.out(0).shape, a.stride, a.pad};
    places.for_each_term([&](std::size_t iy, std::size_t ix, std::size_t iw) { sums[iy] += x[ix] * w[iw]; });
    store(y, sums);
}

void run_conv2d_backward_data(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<Conv2dBackwardDataAttributes>();
    const auto grad_x = reference::output(s, args, 0);
    const std::vector<double> grad_y = reference::input(s, args, 0).values();
    const std::vector<double> w = reference::input(s, args, 1).values();
    std::vector<double> sums(static_cast<std::size_t>(grad_x.size()));
    const Places places{s.out(0).shape, s.in(1).shape, s.in(0).shape, a.stride, a.pad};
    places.for_each_term(
        [&](std::size_t iy, std::size_t ix, std::size_t iw) { sums[ix] += grad_y[iy] * w[iw]; });
    store(grad_x, sums);
}

void run_conv2d_backward_weight(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<Conv2dBackwardWeightAttributes>();
    const auto grad_w = reference::output(s, args, 0);
    const std::vector<double> grad_y = reference::input(s, args, 0).values();
    const std::vector<double> x = reference::input(s, args, 1).values();
    std::vector<double> sums(static_cast<std::size_t>(grad_w.size()));
    const Places places{s.in(1).shape, s.out(0).shape, s.in(0).shape, a.stride, a.pad};
    places.for_each_term(
        [&](std::size_t iy, std::size_t ix, std::size_t iw) { sums[iw] += grad_y[iy] * x[ix]; });
    store(grad_w, sums);
}

}  // namespace

void register_conv2d_ref(KernelTable& table) {
    table.add(reference::kernel<run_conv2d>(conv2d_op));
    table.add(reference::kernel<run_conv2d_backward_data>(conv2d_backward_data_op));
    table.add(reference::kernel<run_conv2d_backward_weight>(conv2d_backward_weight_op));
}

}  // namespace mpt
