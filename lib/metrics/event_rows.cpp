#include "metrics/event_rows.h"

namespace mpt {

std::vector<Scalar> scalars_of(const TrainRow& row) {
    std::vector<Scalar> scalars = {
        {"train/loss", row.loss},
        {"train/lr", row.lr},
        {"train/loss_scale", row.loss_scale},
        {"train/skipped", static_cast<double>(row.skipped)},
        {"train/grad_norm", row.grad_norm},
        {"train/" + std::string(name_of(row.unit)) + "_per_sec", row.per_sec},
        {"train/data_wait_ms", row.data_wait_ms},
    };
    if (row.unit == Unit::kImages)
        scalars.push_back({"train/top1", row.top1});
    else
        scalars.push_back({"train/perplexity", perplexity_of(row.loss)});
    if (row.bits_per_character) scalars.push_back({"train/bits_per_character", *row.bits_per_character});
    return scalars;
}

std::vector<Scalar> scalars_of(const EvaluationRow& row) {
    std::vector<Scalar> scalars = {{"eval/loss", row.loss}};
    if (row.unit == Unit::kImages) {
        scalars.push_back({"eval/top1", row.top1});
        scalars.push_back({"eval/top5", row.top5});
    } else {
        scalars.push_back({"eval/perplexity", perplexity_of(row.loss)});
    }
    if (row.bits_per_character) scalars.push_back({"eval/bits_per_character", *row.bits_per_character});
    if (row.bits_per_byte) scalars.push_back({"eval/bits_per_byte", *row.bits_per_byte});
    if (row.bleu) scalars.push_back({"eval/bleu", *row.bleu});
    return scalars;
}

}  // namespace mpt
