#include "forecast/tensor_cores.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mpt {

namespace {

struct Tile {
    int m, n;
    double speed;  // of the largest: small tiles read each operand more often
};
constexpr std::array<Tile, 5> kTiles = {
    {{256, 128, 1.0}, {128, 128, 0.95}, {128, 64, 0.82}, {64, 64, 0.65}, {64, 32, 0.45}}};
constexpr double kSplitSpeed = 0.93;       // partial sums go through memory
constexpr std::int64_t kLeastSplit = 512;  // depth of a part that is worth a block
constexpr std::int64_t kMostSplits = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
std::int64_t round_up(std::int64_t a, std::int64_t b) {
    return ceil_div(a, b) * b;
}

// Speed at a feature count: whole 16-byte rows are full speed, then halves, quarters, single elements.
double alignment_of(std::int64_t features, std::int64_t least) {
    if (features % least == 0) return 1;
    if (features % (least / 2) == 0) return 0.75;
    if (least >= 4 && features % (least / 4) == 0) return 0.55;
    return 0.35;
}

void place_tiles(const Product& p, const Gpu& gpu, ProductGrade& out) {
    double best = 0;
    for (const Tile& tile : kTiles) {
        const std::int64_t per_product = ceil_div(p.m, tile.m) * ceil_div(p.n, tile.n);
        const double use = static_cast<double>(p.m) * static_cast<double>(p.n) /
                           (static_cast<double>(per_product) * tile.m * tile.n);
        for (std::int64_t splits = 1; splits <= kMostSplits; splits *= 2) {
            if (splits > 1 && p.k / splits < kLeastSplit) break;
            const std::int64_t blocks = per_product * p.count * splits;
            const double waves = static_cast<double>(blocks) / gpu.num_sms;
            const double wave_use = waves / std::ceil(waves);
            const double speed = tile.speed * use * wave_use * (splits > 1 ? kSplitSpeed : 1);
            if (speed <= best) continue;
            best = speed;
            out.tile_m = tile.m;
            out.tile_n = tile.n;
            out.tiles = per_product * p.count;
            out.splits = splits;
            out.tile_use = use;
            out.wave_use = wave_use;
        }
    }
    out.efficiency = best * out.alignment;
}

double alignment_of(const Product& p, std::int64_t least) {
    return std::min(alignment_of(p.in_features, least), alignment_of(p.out_features, least));
}

std::string percent(double share) {
    return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
}

// The product with its features padded to multiples of `multiple`.
Product padded(const Product& p, std::int64_t in, std::int64_t out) {
    Product q = p;
    const auto scale = [](std::int64_t extent, std::int64_t from, std::int64_t to) {
        return from > 0 && extent % from == 0 ? extent / from * to : extent;
    };
    const bool weight = p.kind == Product::Kind::kBackwardWeight;
    const bool data = p.kind == Product::Kind::kBackwardData;
    std::int64_t& of_in = weight || data ? q.n : q.k;
    std::int64_t& of_out = weight ? q.m : data ? q.k : q.n;
    of_in = scale(of_in, p.in_features, in);
    of_out = scale(of_out, p.out_features, out);
    q.in_features = in;
    q.out_features = out;
    return q;
}

ProductGrade rated(const Product& p, ComputeFormat format, const Gpu& gpu) {
    ProductGrade out;
    out.alignment = format == ComputeFormat::kF32 ? 1 : alignment_of(p, multiples_of(format, gpu).least);
    place_tiles(p, gpu, out);
    return out;
}

void advise_padding(const Product& p, ComputeFormat format, const Gpu& gpu, ProductGrade& out) {
    // A first convolution of 3 channels is padded to 4: cuDNN has kernels for that.
    const std::int64_t least = multiples_of(format, gpu).least;
    const bool image = p.source == Product::Source::kConvolution && p.in_features < 4;
    const std::int64_t in = image ? 4 : round_up(p.in_features, least);
    const std::int64_t features = round_up(p.out_features, p.out_features > 4096 ? 64 : least);
    const ProductGrade after = rated(padded(p, in, features), format, gpu);
    if (in != p.in_features)
        out.advice = "pad " + std::to_string(p.in_features) + " features in to " + std::to_string(in);
    if (features != p.out_features)
        out.advice += (out.advice.empty() ? "pad " : ", ") + std::to_string(p.out_features) +
                      " features out to " + std::to_string(features);
    const double more_work = padded(p, in, features).flops() / p.flops();
    out.gain = std::max(1.0, after.efficiency / out.efficiency / more_work);
    if (image) out.gain = std::max(out.gain, 1.2);
}

// Whether another micro-batch fills the waves: the next one, up to twice as large, that gains most a sample.
void advise_batch(const Product& p, ComputeFormat format, const Gpu& gpu, ProductGrade& out) {
    if (p.batch < 1 || p.kind == Product::Kind::kBackwardWeight || out.wave_use > 0.85) return;
    double best = out.efficiency * 1.1;
    for (std::int64_t batch = round_up(p.batch + 1, 8); batch <= 2 * p.batch; batch += 8) {
        if (p.m % p.batch != 0) return;
        Product larger = p;
        larger.m = p.m / p.batch * batch;
        const double efficiency = rated(larger, format, gpu).efficiency;
        if (efficiency <= best) continue;
        best = efficiency * 1.02;
        out.advice = "micro-batch " + std::to_string(batch) + " fills the last wave";
        out.gain = efficiency / out.efficiency;
    }
}

}  // namespace

std::string_view name_of(Grade grade) {
    switch (grade) {
        case Grade::kBlocked:
            return "blocked";
        case Grade::kInefficient:
            return "inefficient";
        case Grade::kGood:
            return "good";
        case Grade::kIdeal:
            return "ideal";
    }
    return "?";
}

Multiples multiples_of(ComputeFormat format, const Gpu& gpu) {
    const bool wide_lines = gpu.major >= 8;
    switch (format) {
        case ComputeFormat::kF32:
            return {1, 1};
        case ComputeFormat::kTf32:
            return {4, wide_lines ? 32 : 4};
        case ComputeFormat::kF16:
        case ComputeFormat::kBf16:
            return {8, wide_lines ? 64 : 8};
        case ComputeFormat::kFp8:
            return {16, 128};
    }
    return {1, 1};
}

ComputeFormat compute_format(DType operand, Tf32 tf32, const Gpu& gpu) {
    ComputeFormat format = ComputeFormat::kF32;
    if (operand == DType::f16) format = ComputeFormat::kF16;
    if (operand == DType::bf16) format = ComputeFormat::kBf16;
    if (operand == DType::f32 && tf32 == Tf32::kOn) format = ComputeFormat::kTf32;
    return gpu.peak(format) > 0 ? format : ComputeFormat::kF32;
}

ComputeFormat compute_format(const Product& product, Tf32 tf32, const Gpu& gpu) {
    if (product.fp8 && gpu.peak(ComputeFormat::kFp8) > 0) return ComputeFormat::kFp8;
    return compute_format(product.operand, tf32, gpu);
}

ProductGrade grade(const Product& product, ComputeFormat format, const Gpu& gpu) {
    ProductGrade out = rated(product, format, gpu);
    if (format == ComputeFormat::kF32) {
        out.why = product.operand == DType::f32 ? "f32 operands without TF32 run on CUDA cores"
                                                : gpu.generation() + " has no Tensor Core arithmetic for " +
                                                      std::string(name_of(product.operand));
        return out;
    }
    const Multiples multiples = multiples_of(format, gpu);
    const std::int64_t in = product.in_features, features = product.out_features;
    const bool aligned = in % multiples.least == 0 && features % multiples.least == 0;
    const bool best = in % multiples.best == 0 && features % multiples.best == 0;
    const bool full = out.tile_use >= 0.9 && out.wave_use >= 0.85;
    const std::string shape = std::to_string(in) + " -> " + std::to_string(features) + " features";
    if (!aligned) {
        out.grade = Grade::kInefficient;
        out.why = shape + ": not multiples of " + std::to_string(multiples.least);
        advise_padding(product, format, gpu, out);
        return out;
    }
    out.grade = best && full ? Grade::kIdeal : out.efficiency < 0.4 ? Grade::kInefficient : Grade::kGood;
    if (!best) out.why = shape + ": multiples of " + std::to_string(multiples.best) + " are best";
    if (!full) {
        out.why += (out.why.empty() ? "" : "; ") + std::to_string(out.tiles) + " tiles of " +
                   std::to_string(out.tile_m) + "x" + std::to_string(out.tile_n) + " use " +
                   percent(out.tile_use) + " of themselves and " + percent(out.wave_use) + " of " +
                   std::to_string(gpu.num_sms) + " SMs";
        advise_batch(product, format, gpu, out);
    }
    return out;
}

BatchRule batch_rule(std::int64_t micro_batch, std::int64_t accumulate) {
    BatchRule rule;
    while (rule.next < micro_batch) rule.next *= 2;
    rule.nearest = std::max<std::int64_t>(8, round_up(micro_batch, 8));
    rule.obeys = rule.next == micro_batch;
    const std::string of = "micro-batch " + std::to_string(micro_batch) +
                           (accumulate > 1 ? " (accumulated " + std::to_string(accumulate) + " times)" : "");
    if (rule.obeys)
        rule.sentence = of + " obeys batch = max(8, 2^n)";
    else if (micro_batch >= 8 && micro_batch % 8 == 0)
        rule.sentence =
            of + " is no power of two, but a multiple of 8, which is as good: only the alignment counts";
    else
        rule.sentence = of +
                        " breaks batch = max(8, 2^n): the weight gradients of linear layers sum over a "
                        "batch that is no multiple of 8; take " +
                        std::to_string(rule.nearest) +
                        (rule.next == rule.nearest ? "" : " or " + std::to_string(rule.next));
    if (accumulate > 1)
        rule.sentence +=
            "; the rule is for the micro-batch, as that is what each product sees, not for the batch of an "
            "update";
    return rule;
}

}  // namespace mpt
