// Published training throughput, one GPU, that forecasts are held against.
#pragma once

#include <string>
#include <vector>

#include "forecast/roofline.h"

namespace mpt {

struct PublishedRate {
    std::string model;      // resnet50, gpt2_124m, transformer_big
    std::string gpu;        // a name of the GPU table
    std::string precision;  // fp32, tf32, amp_fp16, amp_bf16
    double per_second = 0;  // images or tokens
    std::string unit;
    std::int64_t batch = 0;  // samples a micro-step
    Software software = Software::kOpByOp;
    std::string source;
    // Sequences have padding, which is computed but not counted: the share that counts.
    double counted = 1;
    // Rates were fitted to the row. Others are held out in part: product_f32 was set after their errors had
    // been seen.
    bool fitted = true;
};
const std::vector<PublishedRate>& published_rates();

// Largest batches of ResNet-50 that frameworks were published to train on one GPU.
struct PublishedBatches {
    std::string gpu;
    std::int64_t f32 = 0, amp = 0;
};
const PublishedBatches* published_batches(const std::string& model, const std::string& gpu);

// The row nearest to a forecast (same model, GPU and precision), or null.
const PublishedRate* published_for(const std::string& model, const std::string& gpu,
                                   const std::string& precision);

}  // namespace mpt
