// The fused convolutions against plain f64 loops, with guard bytes round everything they write.
#include "backends/cpu/conv_engine.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/float_formats.h"
#include "core/philox.h"

namespace mpt::cpu {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5;

double rounded(double value, DType type) {
    if (type == DType::f16) return static_cast<double>(f16_value(f16_bits(static_cast<float>(value))));
    if (type == DType::bf16) return static_cast<double>(bf16_value(bf16_bits(static_cast<float>(value))));
    return static_cast<double>(static_cast<float>(value));
}

// Half a unit in the last place, relative.
double epsilon(DType type) {
    return type == DType::f32 ? 0x1p-24 : type == DType::f16 ? 0x1p-11 : 0x1p-8;
}

// Storage of any float type between guard bytes, aligned to 64.
class Buffer {
  public:
    Buffer(std::size_t elements, DType type) : elements_(elements), type_(type) {
        bytes_.assign(elements * size_of(type) + 2 * kGuardBytes + 64, kGuard);
        const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
        start_ = kGuardBytes + (64 - (address + kGuardBytes) % 64) % 64;
    }
    static Buffer random(std::size_t elements, DType type, std::uint64_t seed) {
        Buffer buffer(elements, type);
        RandomStream stream(seed, RandomPurpose::kSynthetic, 0);
        for (std::size_t i = 0; i < elements; ++i) buffer.set(i, static_cast<double>(stream.normal()) * 0.5);
        return buffer;
    }
    void* data() { return bytes_.data() + start_; }
    float* floats() { return static_cast<float*>(data()); }
    std::size_t elements() const { return elements_; }
    void set(std::size_t i, double value) {
        const double r = rounded(value, type_);
        unsigned char* at = bytes_.data() + start_ + i * size_of(type_);
        const float f = static_cast<float>(r);
        if (type_ == DType::f32) std::memcpy(at, &f, 4);
        const std::uint16_t bits = type_ == DType::f16 ? f16_bits(f) : bf16_bits(f);
        if (type_ != DType::f32) std::memcpy(at, &bits, 2);
    }
    double operator[](std::size_t i) const {
        const unsigned char* at = bytes_.data() + start_ + i * size_of(type_);
        if (type_ == DType::f32) {
            float f;
            std::memcpy(&f, at, 4);
            return static_cast<double>(f);
        }
        std::uint16_t bits;
        std::memcpy(&bits, at, 2);
        return static_cast<double>(type_ == DType::f16 ? f16_value(bits) : bf16_value(bits));
    }
    bool guards_intact() const {
        const std::size_t end = start_ + elements_ * size_of(type_);
        for (std::size_t i = 0; i < bytes_.size(); ++i)
            if ((i < start_ || i >= end) && bytes_[i] != kGuard) return false;
        return true;
    }
    bool same_bits(const Buffer& other) const {
        return std::memcmp(bytes_.data() + start_, other.bytes_.data() + other.start_,
                           elements_ * size_of(type_)) == 0;
    }

  private:
    std::vector<unsigned char> bytes_;
    std::size_t start_ = 0, elements_ = 0;
    DType type_;
};

std::size_t input_elements(const ConvShape& s) {
    return static_cast<std::size_t>(s.batch * s.height * s.width * s.in_channels);
}
std::size_t output_elements(const ConvShape& s) {
    return static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels);
}
std::size_t weight_elements(const ConvShape& s) {
    return static_cast<std::size_t>(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels);
}

// Calls body(x index, w index, y index) for every product of the convolution.
template <class Body>
void for_each_product(const ConvShape& s, const Body& body) {
    for (std::int64_t n = 0; n < s.batch; ++n)
        for (std::int64_t p = 0; p < s.out_height(); ++p)
            for (std::int64_t q = 0; q < s.out_width(); ++q)
                for (std::int64_t r = 0; r < s.kernel_h; ++r)
                    for (std::int64_t t = 0; t < s.kernel_w; ++t) {
                        const std::int64_t h = p * s.stride + r - s.pad, w = q * s.stride + t - s.pad;
                        if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
                        for (std::int64_t k = 0; k < s.out_channels; ++k)
                            for (std::int64_t c = 0; c < s.in_channels; ++c)
                                body(
                                    static_cast<std::size_t>(
                                        ((n * s.height + h) * s.width + w) * s.in_channels + c),
                                    static_cast<std::size_t>(
                                        ((k * s.kernel_h + r) * s.kernel_w + t) * s.in_channels + c),
                                    static_cast<std::size_t>(
                                        ((n * s.out_height() + p) * s.out_width() + q) * s.out_channels + k));
                    }
}

// A sum of products in f64 and the sum of their magnitudes, which bounds what f32 arithmetic may lose.
struct Sums {
    explicit Sums(std::size_t count) : value(count), magnitude(count), terms(count) {}
    void add(std::size_t i, double product) {
        value[i] += product;
        magnitude[i] += std::abs(product);
        ++terms[i];
    }
    // What f32 accumulation in any order may lose: its rounding errors are a random walk over the terms. The
    // constant leaves room for the rounding of prologues and Winograd's transforms.
    double slack(std::size_t i) const { return (16 + 2 * std::sqrt(terms[i])) * 0x1p-24 * magnitude[i]; }
    // Winograd's weight gradient gets all taps of a filter out of the same products: they share their
    // rounding.
    void share_among_taps(const ConvShape& s) {
        const auto c = static_cast<std::size_t>(s.in_channels),
                   taps = static_cast<std::size_t>(s.kernel_h * s.kernel_w);
        for (std::size_t i = 0; i < value.size(); ++i) {
            const std::size_t first = i / (taps * c) * taps * c + i % c;
            if (i != first) magnitude[first] = std::max(magnitude[first], magnitude[i]);
            if (i != first) terms[first] = std::max(terms[first], terms[i]);
        }
        for (std::size_t i = 0; i < value.size(); ++i) {
            magnitude[i] = magnitude[i / (taps * c) * taps * c + i % c];
            terms[i] = terms[i / (taps * c) * taps * c + i % c];
        }
    }
    std::vector<double> value, magnitude, terms;
};

bool close(double got, double want, double slack, DType stored) {
    const double subnormal = stored == DType::f16 ? 0x1p-25 : 0;
    return std::abs(got - want) <= 1.01 * epsilon(stored) * std::abs(want) + slack + subnormal;
}

std::string name(const ConvShape& s) {
    return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) + " c" +
           std::to_string(s.in_channels) + " k" + std::to_string(s.out_channels) + " " +
           std::to_string(s.kernel_h) + "x" + std::to_string(s.kernel_w) + " s" + std::to_string(s.stride) +
           " p" + std::to_string(s.pad);
}

double affine(Buffer& scale, Buffer& shift, double x, std::size_t channel) {
    return static_cast<double>(
        std::fma(scale.floats()[channel], static_cast<float>(x), shift.floats()[channel]));
}

std::vector<double> effective_input(const ConvShape& s, const Buffer& x, bool use_affine, bool relu,
                                    Buffer& scale, Buffer& shift) {
    std::vector<double> values(x.elements());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] =
            use_affine ? affine(scale, shift, x[i], i % static_cast<std::size_t>(s.in_channels)) : x[i];
        if (relu) values[i] = std::max(0.0, values[i]);
    }
    return values;
}

void check_channel_sums(const Buffer& got, std::size_t row, std::size_t channels, const Buffer& a,
                        const Buffer* b) {
    Sums sums(channels);
    for (std::size_t i = 0; i < a.elements(); ++i)
        sums.add(i % channels, a[i] * (b != nullptr ? (*b)[i] : 1.0));
    bool good = true;
    for (std::size_t c = 0; c < channels; ++c)
        good = good && close(got[row * channels + c], sums.value[c], sums.slack(c), DType::f32);
    INFO("channel sums " << row);
    CHECK(good);
}

void check_forward(const ConvForwardSpec& spec, int threads) {
    const ConvShape& s = spec.shape;
    INFO("forward " << name(s) << " x " << name_of(spec.x) << " y " << name_of(spec.y) << " w "
                    << name_of(spec.weight) << " affine " << spec.input_affine << " relu " << spec.input_relu
                    << " statistics " << spec.statistics << " threads " << threads);
    REQUIRE(ConvForward::refusal(spec) == "");
    const auto k = static_cast<std::size_t>(s.out_channels), c = static_cast<std::size_t>(s.in_channels);
    Buffer x = Buffer::random(input_elements(s), spec.x, 1),
           w = Buffer::random(weight_elements(s), spec.weight, 2);
    Buffer scale = Buffer::random(c, DType::f32, 3), shift = Buffer::random(c, DType::f32, 4);
    Buffer y(output_elements(s), spec.y), statistics(2 * k, DType::f32);
    const ConvForward conv(spec, threads);
    Buffer workspace(conv.workspace_bytes() / 4, DType::f32);
    const ConvForwardArgs args{x.data(), scale.floats(),      shift.floats(),  w.data(),
                               y.data(), statistics.floats(), workspace.data()};
    conv.run(args);

    const std::vector<double> x_eff = effective_input(s, x, spec.input_affine, spec.input_relu, scale, shift);
    Sums want(y.elements());
    for_each_product(s, [&](std::size_t i, std::size_t j, std::size_t o) { want.add(o, x_eff[i] * w[j]); });
    std::size_t bad = 0;
    for (std::size_t i = 0; i < y.elements(); ++i)
        if (!close(y[i], want.value[i], want.slack(i), spec.y)) ++bad;
    CHECK(bad == 0);
    if (spec.statistics) {
        check_channel_sums(statistics, 0, k, y, nullptr);
        check_channel_sums(statistics, 1, k, y, &y);
    }
    CHECK(y.guards_intact());
    CHECK(statistics.guards_intact());
    CHECK(workspace.guards_intact());

    const Buffer first = y, first_statistics = statistics;
    conv.run(args);
    CHECK(first.same_bits(y));
    CHECK(first_statistics.same_bits(statistics));
}

struct BackwardTensors {
    explicit BackwardTensors(const ConvBackwardSpec& spec)
        : x(Buffer::random(input_elements(spec.shape), spec.x, 1)),
          w(Buffer::random(weight_elements(spec.shape), spec.weight, 2)),
          scale(Buffer::random(static_cast<std::size_t>(spec.shape.in_channels), DType::f32, 3)),
          shift(Buffer::random(static_cast<std::size_t>(spec.shape.in_channels), DType::f32, 4)),
          g(Buffer::random(output_elements(spec.shape), spec.g, 5)),
          y(Buffer::random(output_elements(spec.shape), spec.y, 6)),
          a(Buffer::random(static_cast<std::size_t>(spec.shape.out_channels), DType::f32, 7)),
          b(Buffer::random(static_cast<std::size_t>(spec.shape.out_channels), DType::f32, 8)),
          c(Buffer::random(static_cast<std::size_t>(spec.shape.out_channels), DType::f32, 9)),
          addend(Buffer::random(input_elements(spec.shape), spec.addend, 10)),
          reference0(Buffer::random(input_elements(spec.shape), spec.reference, 11)),
          reference1(Buffer::random(input_elements(spec.shape), spec.reference, 12)),
          dx(input_elements(spec.shape), spec.dx),
          reductions(3 * static_cast<std::size_t>(spec.shape.in_channels), DType::f32),
          dw(Buffer::random(weight_elements(spec.shape), DType::f32, 13)) {}
    Buffer x, w, scale, shift, g, y, a, b, c, addend, reference0, reference1, dx, reductions, dw;
};

void check_data_gradient(const ConvBackwardSpec& spec, BackwardTensors& t,
                         const std::vector<double>& dy_eff) {
    const auto channels = static_cast<std::size_t>(spec.shape.in_channels);
    Sums want(t.x.elements());
    for_each_product(spec.shape,
                     [&](std::size_t i, std::size_t j, std::size_t o) { want.add(i, dy_eff[o] * t.w[j]); });
    std::size_t bad = 0;
    for (std::size_t i = 0; i < t.x.elements(); ++i) {
        if (spec.add) want.add(i, t.addend[i]);
        bool kept = true;
        if (spec.mask == ReluMask::kInput) kept = t.x[i] > 0;
        if (spec.mask == ReluMask::kInputAffine) kept = affine(t.scale, t.shift, t.x[i], i % channels) > 0;
        if (!close(t.dx[i], kept ? want.value[i] : 0.0, want.slack(i), spec.dx)) ++bad;
    }
    CHECK(bad == 0);
    if (!spec.reductions) return;
    check_channel_sums(t.reductions, 0, channels, t.dx, nullptr);
    if (spec.num_references > 0) check_channel_sums(t.reductions, 1, channels, t.dx, &t.reference0);
    if (spec.num_references > 1) check_channel_sums(t.reductions, 2, channels, t.dx, &t.reference1);
}

void check_backward(const ConvBackwardSpec& spec, int threads) {
    const ConvShape& s = spec.shape;
    INFO("backward " << name(s) << " storage " << name_of(spec.x) << " " << name_of(spec.dx) << " data "
                     << spec.need_data << " weight " << spec.need_weight << " affine " << spec.input_affine
                     << " relu " << spec.input_relu << " grad_affine " << spec.grad_affine << " add "
                     << spec.add << " mask " << static_cast<int>(spec.mask) << " references "
                     << spec.num_references << " reductions " << spec.reductions << " threads " << threads);
    REQUIRE(ConvBackward::refusal(spec) == "");
    BackwardTensors t(spec);
    const Buffer dw_before = t.dw;
    const ConvBackward conv(spec, threads);
    Buffer workspace(conv.workspace_bytes() / 4, DType::f32);
    ConvBackwardArgs args;
    args.x = t.x.data();
    args.scale = t.scale.floats();
    args.shift = t.shift.floats();
    args.w = t.w.data();
    args.g = t.g.data();
    args.y = t.y.data();
    args.a = t.a.floats();
    args.b = t.b.floats();
    args.c = t.c.floats();
    args.addend = t.addend.data();
    args.references[0] = t.reference0.data();
    args.references[1] = t.reference1.data();
    args.dx = t.dx.data();
    args.reductions = t.reductions.floats();
    args.dw = t.dw.floats();
    args.workspace = workspace.data();
    conv.run(args);

    std::vector<double> dy_eff(t.g.elements());
    for (std::size_t i = 0; i < dy_eff.size(); ++i) {
        const std::size_t k = i % static_cast<std::size_t>(s.out_channels);
        dy_eff[i] = spec.grad_affine ? t.a[k] * t.g[i] + t.b[k] * t.y[i] + t.c[k] : t.g[i];
    }
    if (spec.need_data) check_data_gradient(spec, t, dy_eff);
    if (spec.need_weight) {
        const std::vector<double> x_eff =
            effective_input(s, t.x, spec.input_affine, spec.input_relu, t.scale, t.shift);
        Sums want(t.dw.elements());
        for_each_product(
            s, [&](std::size_t i, std::size_t j, std::size_t o) { want.add(j, x_eff[i] * dy_eff[o]); });
        if (conv.description().find("winograd") != std::string::npos) want.share_among_taps(s);
        std::size_t bad = 0;
        for (std::size_t i = 0; i < t.dw.elements(); ++i)
            if (!close(t.dw[i], want.value[i] + dw_before[i], want.slack(i), DType::f32)) ++bad;
        CHECK(bad == 0);
    }
    CHECK(t.dx.guards_intact());
    CHECK(t.dw.guards_intact());
    CHECK(t.reductions.guards_intact());
    CHECK(workspace.guards_intact());

    const Buffer dx = t.dx, dw = t.dw, reductions = t.reductions;
    t.dw = dw_before;
    args.dw = t.dw.floats();
    conv.run(args);
    CHECK(dx.same_bits(t.dx));
    CHECK(dw.same_bits(t.dw));
    CHECK(reductions.same_bits(t.reductions));
}

// batch, height, width, in, out, kernel_h, kernel_w, stride, pad
const std::vector<ConvShape> kShapes = {
    {3, 8, 8, 16, 16, 3, 3, 1, 1},    {1, 7, 9, 32, 64, 3, 3, 1, 1},   {3, 7, 7, 64, 32, 3, 3, 2, 1},
    {2, 9, 6, 20, 12, 3, 3, 2, 1},    {4, 7, 7, 64, 128, 1, 1, 1, 0},  {3, 5, 7, 32, 48, 1, 1, 1, 0},
    {3, 11, 13, 16, 32, 1, 1, 1, 0},  {3, 9, 9, 32, 16, 1, 1, 2, 0},   {2, 8, 8, 16, 32, 1, 1, 2, 0},
    {2, 20, 22, 3, 64, 7, 7, 2, 3},   {3, 12, 12, 1, 16, 3, 3, 1, 1},  {2, 12, 12, 3, 16, 3, 3, 1, 1},
    {1, 10, 10, 5, 7, 3, 3, 1, 1},    {1, 10, 11, 17, 33, 5, 3, 1, 2}, {2, 6, 6, 128, 80, 3, 3, 1, 1},
    {2, 13, 13, 8, 24, 4, 4, 4, 0},   {2, 9, 9, 16, 16, 3, 3, 3, 0},   {1, 6, 5, 16, 16, 3, 3, 1, 0},
    {1, 3, 3, 4, 4, 3, 3, 1, 0},      {1, 1, 1, 10, 10, 1, 1, 1, 0},   {1, 4, 300, 16, 16, 3, 3, 1, 1},
    {1, 40, 40, 96, 100, 3, 3, 1, 1}, {5, 14, 14, 64, 64, 3, 3, 1, 1}, {2, 2, 2, 16, 16, 3, 3, 1, 1},
    {1, 30, 30, 112, 16, 1, 1, 1, 0}, {2, 5, 5, 2, 130, 5, 5, 2, 2},   {1, 8, 8, 16, 16, 2, 2, 2, 0},
};

TEST_CASE("forward convolution: every shape, threads 1 to 3", "[conv]") {
    for (const ConvShape& shape : kShapes) {
        ConvForwardSpec spec;
        spec.shape = shape;
        spec.statistics = true;
        check_forward(spec, 2);
        spec.input_affine = spec.input_relu = true;
        check_forward(spec, shape.batch == 1 ? 3 : 1);
    }
}

TEST_CASE("forward convolution: prologues and storage types", "[conv]") {
    const std::vector<ConvShape> shapes = {{3, 9, 7, 24, 40, 3, 3, 1, 1},
                                           {3, 9, 7, 24, 40, 1, 1, 2, 0},
                                           {3, 11, 11, 3, 20, 5, 5, 2, 2},
                                           {3, 8, 8, 1, 16, 3, 3, 1, 1}};
    for (const ConvShape& shape : shapes) {
        for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
            for (int flags = 0; flags < 8; ++flags) {
                ConvForwardSpec spec;
                spec.shape = shape;
                spec.x = spec.y = spec.weight = type;
                spec.input_affine = (flags & 1) != 0;
                spec.input_relu = (flags & 2) != 0;
                spec.statistics = (flags & 4) != 0;
                check_forward(spec, 2);
            }
        }
        ConvForwardSpec mixed;
        mixed.shape = shape;
        mixed.x = DType::f16;
        mixed.weight = DType::bf16;
        check_forward(mixed, 2);
    }
}

TEST_CASE("backward convolution: every shape, threads 1 to 3", "[conv]") {
    for (const ConvShape& shape : kShapes) {
        ConvBackwardSpec spec;
        spec.shape = shape;
        check_backward(spec, 2);
        spec.input_affine = spec.input_relu = spec.grad_affine = spec.add = spec.reductions = true;
        spec.mask = ReluMask::kInputAffine;
        spec.num_references = 2;
        check_backward(spec, shape.batch == 1 ? 3 : 1);
    }
}

TEST_CASE("backward convolution: one gradient at a time", "[conv]") {
    for (const ConvShape& shape : {kShapes[0], kShapes[2], kShapes[4], kShapes[7], kShapes[9], kShapes[10]}) {
        ConvBackwardSpec spec;
        spec.shape = shape;
        spec.need_weight = false;
        check_backward(spec, 2);
        spec.need_weight = true;
        spec.need_data = false;
        check_backward(spec, 2);
    }
}

TEST_CASE("backward convolution: prologues, epilogues and storage types", "[conv]") {
    for (const ConvShape& shape :
         {ConvShape{3, 9, 7, 24, 40, 3, 3, 1, 1}, ConvShape{3, 7, 6, 72, 16, 1, 1, 2, 0}}) {
        for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
            for (int flags = 0; flags < 36; ++flags) {
                ConvBackwardSpec spec;
                spec.shape = shape;
                spec.x = spec.y = spec.g = spec.dx = spec.addend = spec.reference = spec.weight = type;
                spec.add = flags % 2 == 1;
                spec.mask = static_cast<ReluMask>(flags / 2 % 3);
                spec.num_references = flags / 6 % 3;
                spec.reductions = flags / 18 == 1;
                spec.grad_affine = flags % 4 < 2;
                spec.input_affine = flags % 3 != 0;
                spec.input_relu = flags % 5 < 3;
                check_backward(spec, 2);
            }
        }
    }
}

TEST_CASE("backward convolution: a storage type for each tensor", "[conv]") {
    ConvBackwardSpec spec;
    spec.shape = {3, 9, 7, 24, 40, 3, 3, 2, 1};
    spec.x = DType::f16;
    spec.y = DType::bf16;
    spec.addend = DType::f16;
    spec.reference = DType::bf16;
    spec.grad_affine = spec.add = spec.reductions = true;
    spec.mask = ReluMask::kInput;
    spec.num_references = 1;
    check_backward(spec, 2);
}

// Tiles that reach over the edges, bands, groups of images, partly filled channel blocks, every padding.
const std::vector<ConvShape> kWinogradShapes = {
    {1, 7, 9, 32, 64, 3, 3, 1, 1},    {5, 14, 14, 64, 64, 3, 3, 1, 1}, {9, 7, 7, 20, 40, 3, 3, 1, 1},
    {1, 40, 41, 96, 100, 3, 3, 1, 1}, {3, 6, 5, 16, 16, 3, 3, 1, 0},   {3, 6, 5, 16, 33, 3, 3, 1, 2},
    {1, 3, 3, 16, 16, 3, 3, 1, 0},    {2, 2, 2, 16, 130, 3, 3, 1, 1},  {1, 4, 300, 16, 16, 3, 3, 1, 1},
    {1, 1, 1, 16, 16, 3, 3, 1, 1},
};

TEST_CASE("convolutions: Winograd and direct against the same loops", "[conv]") {
    for (const ConvShape& shape : kWinogradShapes) {
        for (const WinogradUse use : {WinogradUse::kWherePossible, WinogradUse::kNever}) {
            ConvForwardSpec forward;
            forward.shape = shape;
            forward.winograd = use;
            forward.statistics = forward.input_affine = forward.input_relu = true;
            const bool winograd = use == WinogradUse::kWherePossible;
            CHECK((ConvForward(forward, 1).description().find("winograd") != std::string::npos) == winograd);
            check_forward(forward, 2);
            forward.x = forward.y = forward.weight = DType::f16;
            check_forward(forward, 3);
            ConvBackwardSpec backward;
            backward.shape = shape;
            backward.winograd = use;
            CHECK((ConvBackward(backward, 1).description().find("winograd") != std::string::npos) ==
                  winograd);
            check_backward(backward, 1);
            backward.need_weight = false;
            check_backward(backward, 2);
            backward.need_weight = true;
            backward.need_data = false;
            check_backward(backward, 2);
            backward.need_data = true;
            backward.x = backward.y = backward.g = backward.dx = backward.addend = backward.reference =
                backward.weight = DType::bf16;
            backward.input_affine = backward.grad_affine = backward.add = backward.reductions = true;
            backward.mask = ReluMask::kInputAffine;
            backward.num_references = 2;
            check_backward(backward, 3);
        }
    }
}

TEST_CASE("convolutions refuse in one sentence what they cannot do", "[conv]") {
    ConvForwardSpec forward;
    CHECK(ConvForward::refusal(forward) == "needs at least one image, pixel and channel");
    forward.shape = {1, 8, 8, 16, 16, 1, 1, 1, 1};
    CHECK(ConvForward::refusal(forward) == "needs padding smaller than the kernel");
    forward.shape = {1, 2, 8, 16, 16, 5, 5, 1, 1};
    CHECK(ConvForward::refusal(forward) == "needs an input at least as large as the kernel");
    forward.shape = {1, 8, 8, 16, 16, 3, 3, 1, 1};
    forward.y = DType::u8;
    CHECK(ConvForward::refusal(forward) == "stores y only as f32, f16 or bf16, not u8");
    ConvBackwardSpec backward;
    backward.shape = forward.shape;
    backward.need_data = backward.need_weight = false;
    CHECK(ConvBackward::refusal(backward) == "needs a gradient to compute");
    backward.need_weight = backward.reductions = true;
    CHECK(ConvBackward::refusal(backward) == "makes reductions only of a data gradient");
}

}  // namespace
}  // namespace mpt::cpu
