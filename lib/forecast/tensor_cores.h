// How well a product suits a GPU's Tensor Cores: alignment for the format, tile and wave quantisation.
//
// Since cuBLAS 11 and cuDNN 7.6.3 no shape is refused; odd ones are slow. Efficient multiples (elements of 16
// bytes, best 128 bytes from Ampere on): f16 and bf16 8 and 64, tf32 4 and 32, fp8 16 and 128 (NVIDIA, Matrix
// Multiplication Background User's Guide).
#pragma once

#include <string>
#include <string_view>

#include "forecast/gpu.h"
#include "forecast/products.h"

namespace mpt {

// blocked: no Tensor Core runs it. inefficient: less than half of what the shape's neighbours get, or not
// aligned. good: aligned to 16 bytes. ideal: to 128 bytes (16 on Volta and Turing) with full tiles and waves.
enum class Grade : std::uint8_t { kBlocked, kInefficient, kGood, kIdeal };
std::string_view name_of(Grade grade);

struct ProductGrade {
    Grade grade = Grade::kBlocked;
    double alignment = 1;  // share of speed that alignment leaves
    double tile_use = 1;   // share of the tiles' elements that are wanted
    double wave_use = 1;   // share of the SMs at work, over all waves
    int tile_m = 0, tile_n = 0;
    std::int64_t tiles = 0, splits = 1;
    double efficiency = 1;  // of the format's sustained peak
    std::string why;        // what keeps it from ideal
    std::string advice;     // padding or batch; empty when there is none
    double gain = 1;        // predicted: time of this product before over after the advice
};

// Smallest and best multiple for a format.
struct Multiples {
    std::int64_t least = 1, best = 1;
};
Multiples multiples_of(ComputeFormat format, const Gpu& gpu);

// What operands of a type are multiplied in; f32 where the GPU has nothing faster. `tf32`: f32 operands may.
enum class Tf32 : std::uint8_t { kOff, kOn };
ComputeFormat compute_format(DType operand, Tf32 tf32, const Gpu& gpu);
ComputeFormat compute_format(const Product& product, Tf32 tf32, const Gpu& gpu);

ProductGrade grade(const Product& product, ComputeFormat format, const Gpu& gpu);

// The rule "batch = max(8, 2^n)": what it says for a micro-batch of `batch`, and how much of it matters.
struct BatchRule {
    std::int64_t next = 8;     // the nearest batch not below that obeys the rule
    std::int64_t nearest = 8;  // the nearest multiple of 8 not below
    bool obeys = false;
    std::string sentence;
};
BatchRule batch_rule(std::int64_t micro_batch, std::int64_t accumulate);

}  // namespace mpt
