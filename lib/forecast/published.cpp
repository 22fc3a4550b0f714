#include "forecast/published.h"

namespace mpt {

const std::vector<PublishedRate>& published_rates() {
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
        {"transformer_big", "A100-SXM4-80GB", "tf32", 51000, "tokens/s", 160, Software::kOpByOp,
         "DeepLearningExamples"},
        {"transformer_big", "A100-SXM4-80GB", "amp_fp16", 82000, "tokens/s", 320, Software::kOpByOp,
         "DeepLearningExamples"},
    };
    return rates;
}

const PublishedRate* published_for(const std::string& model, const std::string& gpu,
                                   const std::string& precision) {
    for (const PublishedRate& rate : published_rates())
        if (rate.model == model && rate.gpu == gpu && rate.precision == precision) return &rate;
    return nullptr;
}

}  // namespace mpt
