// Fused convolutions on the CPU: libxsmm micro-kernels between a prologue that fills a cache-sized f32
// scratch and an epilogue that works on the output tile while it is in cache. This is the only folder that
// includes libxsmm. All tensors are stored NHWC in f32, f16 or bf16; arithmetic is f32; sums are kept in f64.
//
//   forward    x_eff = relu?(scale * x + shift)     y = conv(x_eff, w)      statistics: sum(y), sum(y*y) a
//   channel backward   dy_eff = a * g + b * y + c           dx = conv_data(dy_eff, w) (+ addend), masked by
//   relu,
//                                                   reductions: sum(dx), sum(dx * reference_i) a channel
//                                                   dw += conv_weight(x_eff, dy_eff)
//
// With a fixed number of threads results are the same bits from run to run: images are handed out in fixed
// ranges and partial sums are added in thread order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.h"

namespace mpt::cpu {

// Square strides and symmetric padding; no groups, no dilation.
struct ConvShape {
    std::int64_t batch = 0, height = 0, width = 0, in_channels = 0, out_channels = 0;
    std::int64_t kernel_h = 0, kernel_w = 0, stride = 1, pad = 0;
    std::int64_t out_height() const { return (height + 2 * pad - kernel_h) / stride + 1; }
    std::int64_t out_width() const { return (width + 2 * pad - kernel_w) / stride + 1; }
    bool operator==(const ConvShape&) const = default;
};

// F(2x2, 3x3) for 3x3 convolutions with stride 1; it rounds differently, not worse.
enum class WinogradUse : std::uint8_t { kWhereFaster, kWherePossible, kNever };

// What surrounds the product. `storage` is the type of x, y, g, dx, addend, references; `weight` that of w.
struct ConvForwardSpec {
    ConvShape shape;
    DType x = DType::f32, y = DType::f32, weight = DType::f32;
    bool input_affine = false;  // x_eff = scale * x + shift
    bool input_relu = false;    // ... then max(0, .)
    bool statistics = false;
    WinogradUse winograd = WinogradUse::kWhereFaster;
    bool operator==(const ConvForwardSpec&) const = default;
};

enum class ReluMask : std::uint8_t {
    kNone,
    kInput,        // keep dx where x > 0                (x is an activated tensor)
    kInputAffine,  // keep dx where scale * x + shift > 0 (x is a convolution's output before its batch norm)
};

struct ConvBackwardSpec {
    ConvShape shape;
    DType x = DType::f32, y = DType::f32, g = DType::f32, dx = DType::f32, addend = DType::f32,
          weight = DType::f32;
    bool need_data = true;
    bool need_weight = true;
    bool input_affine = false,
         input_relu = false;   // as in the forward direction; used by the weight gradient
    bool grad_affine = false;  // dy_eff = a * g + b * y + c; otherwise dy_eff = g
    bool add = false;          // dx += addend before the mask
    ReluMask mask = ReluMask::kNone;
    int num_references =
        0;  // 0..2 tensors shaped like dx, type `reference`; reductions are made if `reductions`
    bool reductions = false;  // sum(dx) and sum(dx * reference_i), of the values as stored
    DType reference = DType::f32;
    WinogradUse winograd = WinogradUse::kWhereFaster;
    bool operator==(const ConvBackwardSpec&) const = default;
};

struct ConvForwardArgs {
    const void* x = nullptr;       // [N, H, W, C]
    const float* scale = nullptr;  // [C]
    const float* shift = nullptr;  // [C]
    const void* w = nullptr;       // [K, R, S, C]
    void* y = nullptr;             // [N, P, Q, K]
    float* statistics = nullptr;   // [2, K]: sum and sum of squares of y as stored
    void* workspace = nullptr;     // workspace_bytes(), 64-byte aligned
};

struct ConvBackwardArgs {
    const void* x = nullptr;                         // [N, H, W, C]
    const float* scale = nullptr;                    // [C]
    const float* shift = nullptr;                    // [C]
    const void* w = nullptr;                         // [K, R, S, C]
    const void* g = nullptr;                         // [N, P, Q, K]
    const void* y = nullptr;                         // [N, P, Q, K], with grad_affine
    const float* a = nullptr;                        // [K]
    const float* b = nullptr;                        // [K]
    const float* c = nullptr;                        // [K]
    const void* addend = nullptr;                    // [N, H, W, C]
    const void* references[2] = {nullptr, nullptr};  // [N, H, W, C]
    void* dx = nullptr;                              // [N, H, W, C]
    float* reductions = nullptr;  // [1 + num_references, C]: sum(dx), then sum(dx * reference_i)
    float* dw = nullptr;          // [K, R, S, C], added to
    void* workspace = nullptr;    // workspace_bytes(), 64-byte aligned
};

// A descriptor decides, the object runs. `refusal` gives an empty string or a sentence why not.
class ConvForward {
  public:
    static std::string refusal(const ConvForwardSpec& spec);
    ConvForward(const ConvForwardSpec& spec, int num_threads);
    ~ConvForward();
    ConvForward(const ConvForward&) = delete;
    ConvForward& operator=(const ConvForward&) = delete;
    std::size_t workspace_bytes() const;
    void run(const ConvForwardArgs& args) const;
    std::string description() const;  // e.g. "xsmm winograd F(2x2,3x3) avx512", for the precision audit

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

class ConvBackward {
  public:
    static std::string refusal(const ConvBackwardSpec& spec);
    ConvBackward(const ConvBackwardSpec& spec, int num_threads);
    ~ConvBackward();
    ConvBackward(const ConvBackward&) = delete;
    ConvBackward& operator=(const ConvBackward&) = delete;
    std::size_t workspace_bytes() const;
    void run(const ConvBackwardArgs& args) const;
    std::string description() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace mpt::cpu
