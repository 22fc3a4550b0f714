#include <cmath>

#include "ops/batch_norm_add_relu/batch_norm_add_relu.h"
#include "ops/reference.h"

namespace mpt {

namespace {

namespace in = batch_norm_add_relu_input;
namespace out = batch_norm_add_relu_output;

void run(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<BatchNormAddReluAttributes>();
    const auto x = reference::input(s, a, in::kX);
    const auto y = reference::output(s, a, out::kY);
    const std::int64_t channels = x.dim(-1), rows = x.size() / channels;
    const auto set = [&](int output, std::int64_t c, double value) {
        reference::output(s, a, output).set(c, value);
    };
    for (std::int64_t c = 0; c < channels; ++c) {
        double mean = 0, variance = 0;
        for (std::int64_t r = 0; r < rows; ++r) mean += x(r * channels + c) / static_cast<double>(rows);
        for (std::int64_t r = 0; r < rows; ++r) {
            const double centred = x(r * channels + c) - mean;
            variance += centred * centred / static_cast<double>(rows);
        }
        const double rstd = 1 / std::sqrt(variance + attributes.epsilon);
        const double scale = reference::input(s, a, in::kGamma)(c) * rstd;
        const double shift = reference::input(s, a, in::kBeta)(c) - mean * scale;
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t i = r * channels + c;
            double value = x(i) * scale + shift;
            if (s.has(in::kAddend)) value += reference::input(s, a, in::kAddend)(i);
            y.set(i, attributes.relu && value < 0 ? 0.0 : value);
        }
        set(out::kScale, c, scale);
        set(out::kShift, c, shift);
        set(out::kMean, c, mean);
        set(out::kRstd, c, rstd);
    }
}

}  // namespace

void register_batch_norm_add_relu_ref(KernelTable& table) {
    table.add(reference::kernel<run>(batch_norm_add_relu_op));
}

}  // namespace mpt
