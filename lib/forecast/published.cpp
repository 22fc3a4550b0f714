#include "forecast/published.h"

namespace mpt {

const std::vector<PublishedRate>& published_rates() {
    // Batches of 8 x 3584 tokens, padding included, are published as 25k tokens that count (Ott et al. 2018,
    // the same data and the same batching).
    constexpr double kWmtCounted = 25000.0 / (8 * 3584);
    // Frameworks fuse normalisation and activation in mixed precision only; in f32 they run op by op.
    static const std::vector<PublishedRate> rates = {
        {"resnet50", "V100-SXM2", "fp32", 417, "images/s", 128, Software::kOpByOp,
         "DeepLearningExamples, MXNet"},
        {"resnet50", "V100-SXM2", "amp_fp16", 1492, "images/s", 256, Software::kFused,
         "DeepLearningExamples, MXNet"},
        {"resnet50", "A100-SXM4-80GB", "tf32", 1056, "images/s", 256, Software::kOpByOp,
         "DeepLearningExamples, MXNet"},
        {"resnet50", "A100-SXM4-80GB", "amp_fp16", 3411, "images/s", 256, Software::kFused,
         "DeepLearningExamples, MXNet"},
        {"resnet50", "A100-SXM4-80GB", "tf32", 938, "images/s", 256, Software::kOpByOp,
         "DeepLearningExamples, PyTorch"},
        {"resnet50", "A100-SXM4-80GB", "amp_fp16", 2470, "images/s", 256, Software::kOpByOp,
         "DeepLearningExamples, PyTorch"},
        {"resnet50", "H100-SXM5", "amp_fp16", 7050, "images/s", 408, Software::kFused, "MLPerf v3.1, MXNet"},
        {"resnet50", "H100-SXM5", "amp_fp16", 2790, "images/s", 256, Software::kEager,
         "Lambda, plain PyTorch"},
        {"resnet50", "H200-SXM", "tf32", 2260, "images/s", 256, Software::kEager, "Lambda, plain PyTorch"},
        {"resnet50", "H200-SXM", "amp_fp16", 3079, "images/s", 256, Software::kEager,
         "Lambda, plain PyTorch"},
        {"gpt2_124m", "A100-SXM4-80GB", "amp_bf16", 218000, "tokens/s", 32, Software::kFused, "llm.c"},
        {"transformer_big", "A100-SXM4-40GB", "tf32", 51057, "tokens/s", 320, Software::kOpByOp,
         "DeepLearningExamples, PyTorch", kWmtCounted},
        {"transformer_big", "A100-SXM4-40GB", "amp_fp16", 82059, "tokens/s", 320, Software::kOpByOp,
         "DeepLearningExamples, PyTorch", kWmtCounted},
        {"transformer_big", "V100-SXM2", "fp32", 8742, "tokens/s", 80, Software::kOpByOp,
         "DeepLearningExamples, PyTorch", kWmtCounted, false},
        {"transformer_big", "V100-SXM2", "amp_fp16", 32942, "tokens/s", 160, Software::kOpByOp,
         "DeepLearningExamples, PyTorch", kWmtCounted, false},
        {"transformer_big", "V100-SXM2-32GB", "fp32", 9827, "tokens/s", 160, Software::kOpByOp,
         "DeepLearningExamples, PyTorch", kWmtCounted},
        {"transformer_big", "V100-SXM2-32GB", "amp_fp16", 39911, "tokens/s", 320, Software::kOpByOp,
         "DeepLearningExamples, PyTorch", kWmtCounted, false},
    };
    return rates;
}

const PublishedRate* published_for(const std::string& model, const std::string& gpu,
                                   const std::string& precision) {
    for (const PublishedRate& rate : published_rates())
        if (rate.model == model && rate.gpu == gpu && rate.precision == precision) return &rate;
    return nullptr;
}

const PublishedBatches* published_batches(const std::string& model, const std::string& gpu) {
    static const std::vector<PublishedBatches> batches = {
        {"V100-SXM2", 128, 256}, {"RTX3090", 224, 448}, {"A100-SXM4-80GB", 640, 1280}};
    if (model != "resnet50") return nullptr;
    for (const PublishedBatches& row : batches)
        if (row.gpu == gpu) return &row;
    return nullptr;
}

}  // namespace mpt
