#include "backends/cuda/spec_text.h"

#include <cstdio>

namespace mpt::gpu {

namespace {

std::string by(std::int64_t a, std::int64_t b) {
    return std::to_string(a) + "x" + std::to_string(b);
}

}  // namespace

std::string text_of(const ProductSpec& s) {
    std::string text = "product " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
                       std::to_string(s.k) + " " + (s.transposed_a ? "T" : "N") +
                       (s.transposed_b ? "T" : "N") + " " + std::string(name_of(s.input)) + "->" +
                       std::string(name_of(s.output));
    if (s.bias) text += " bias";
    if (s.accumulate) text += " accumulate";
    if (s.fp8 == Fp8::kE4m3) text += " e4m3";
    if (s.fp8 == Fp8::kE5m2) text += " e5m2 by e4m3";
    if (s.gelu) text += " gelu";
    if (s.bias_gradient) text += " bias_gradient";
    if (s.gelu_gradient) text += " gelu_gradient";
    if (s.tf32) text += " tf32";
    return text;
}

std::string text_of(const ConvolutionSpec& s) {
    const char* kind = s.kind == ConvolutionKind::kForward        ? "forward"
                       : s.kind == ConvolutionKind::kBackwardData ? "backward_data"
                                                                  : "backward_weight";
    std::string text = std::string("conv ") + kind + " " + by(s.n, s.h) + "x" + by(s.w, s.c) + " k" +
                       std::to_string(s.k) + " " + by(s.r, s.s) + " /" + std::to_string(s.stride) + " +" +
                       std::to_string(s.pad) + " " + std::string(name_of(s.dtype));
    if (s.tf32) text += " tf32";
    const ConvolutionFusion& f = s.fusion;
    if (f.affine) text += " affine";
    if (f.relu) text += " relu";
    if (f.statistics) text += " statistics";
    if (f.add) text += " add";
    if (f.mask) text += " mask";
    if (f.reductions) text += " reductions";
    if (f.references > 0) text += " references " + std::to_string(f.references);
    return text;
}

std::string text_of(const AttentionSpec& s) {
    std::string text =
        std::string("attention ") + (s.backward ? "backward " : "forward ") + std::to_string(s.batch) + "x" +
        std::to_string(s.heads) + "x" + std::to_string(s.queries) + "x" + std::to_string(s.keys) + "x" +
        std::to_string(s.size) + " rows " + std::to_string(s.q_row) + "," + std::to_string(s.k_row) + "," +
        std::to_string(s.v_row) + " " + std::string(name_of(s.dtype));
    if (s.causal) text += " causal";
    if (s.lengths) text += " lengths";
    return text;
}

std::string text_of(const PoolSpec& s) {
    std::string text = std::string(s.average ? "average_pool " : "max_pool ") +
                       (s.backward ? "backward " : "forward ") + by(s.n, s.h) + "x" + by(s.w, s.c) + " " +
                       by(s.window_h, s.window_w) + " /" + std::to_string(s.stride) + " +" +
                       std::to_string(s.pad) + " " + std::string(name_of(s.dtype));
    if (s.affine) text += " affine";
    if (s.relu) text += " relu";
    return text;
}

std::string text_of(const NormSpec& s) {
    std::string text = std::string("batch_norm ") + (s.backward ? "backward " : "forward ") + by(s.n, s.h) +
                       "x" + by(s.w, s.c) + " " + std::string(name_of(s.dtype));
    if (s.add) text += " add";
    if (s.relu) text += " relu";
    // A graph of cuDNN's holds it.
    char epsilon[32] = {};
    std::snprintf(epsilon, sizeof epsilon, " epsilon %g", s.epsilon);
    return s.backward ? text : text + epsilon;
}

}  // namespace mpt::gpu
