#include "study/calibration.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "study/families.h"

namespace mpt {

namespace {

PrecisionMode mode_of(const std::string& word) {
    if (word == "tf32") return PrecisionMode::kTf32;
    if (word == "amp_fp16") return PrecisionMode::kAmpFp16;
    return word == "amp_bf16" ? PrecisionMode::kAmpBf16 : PrecisionMode::kFp32;
}

// The config of a published row; none for a network this build does not have.
std::optional<RunConfig> config_of(const PublishedRate& rate) {
    RunConfig config;
    config.train.epochs = 1;
    config.train.batch_size = rate.batch;
    config.precision.mode = mode_of(rate.precision);
    ModelConfig& model = config.model;
    if (rate.model == "resnet50") {
        model.depth = 50;
        model.num_classes = 1000;
        config.data.image_size = 224;
        return config;
    }
    config.optimizer.type = OptimizerType::kAdamw;
    if (rate.model == "gpt2_124m") {
        model.type = ModelType::kGpt;
        model.depth = model.heads = 12;
        model.width = 768;
        model.context = 1024;
        model.vocabulary_size = 50257;
        return config;
    }
    if (rate.model != "transformer_big") return std::nullopt;
    constexpr std::int64_t kLength = 32;
    model.type = ModelType::kTransformer;
    model.depth = 6;
    model.width = 1024;
    model.heads = 16;
    model.vocabulary_size = 33708;
    model.dropout = 0.1;  // the published runs drop and smooth, too
    config.train.label_smoothing = 0.1;
    config.data.sequence_length = kLength;
    config.train.batch_tokens = rate.batch * kLength;
    return config;
}

}  // namespace

Calibration::Calibration(const std::string& network) {
    for (const PublishedRate& rate : published_rates()) {
        const std::optional<RunConfig> config = config_of(rate);
        if (!config || (!network.empty() && rate.model != network)) continue;
        Network& known = networks_.try_emplace(rate.model, Network{*config, {}, {}}).first->second;
        known.families[{like(mode_of(rate.precision), StudiedDevice::kGpu), style_of(rate.software)}];
    }
    for (auto& [model, known] : networks_) known.data = describe_data(known.config);
}

std::vector<Job> Calibration::jobs() {
    std::vector<Job> jobs;
    for (auto& [model, network] : networks_)
        for (auto& [key, family] : network.families)
            jobs.push_back([&network = network, &key = key, &family = family] {
                const StepVariant variant{key.first, Recompute::kOff, key.second};
                family = std::make_unique<StepFamily>(network.config, network.data.data, 1, variant);
            });
    return jobs;
}

CalibrationRow Calibration::row(const PublishedRate& rate, const Network& network) const {
    const PrecisionMode mode = mode_of(rate.precision);
    const StepFamily& family =
        *network.families.at({like(mode, StudiedDevice::kGpu), style_of(rate.software)});
    const Graph step = family.at(rate.batch);
    const Gpu& gpu = find_gpu(rate.gpu);
    const Tf32 tf32 = mode == PrecisionMode::kTf32 ? Tf32::kOn : Tf32::kOff;
    const SustainedRates rates = sustained_rates(rate.software);
    const double ms = forecast(step, work_of(step), gpu, tf32, rates).ms +
                      forecast(family.update(), work_of(family.update()), gpu, Tf32::kOff, rates).ms;
    const std::int64_t items = rate.batch * network.data.items_per_sample;
    return {rate, rate.counted * static_cast<double>(items) / ms * 1e3};
}

std::vector<CalibrationRow> Calibration::rows() const {
    std::vector<CalibrationRow> rows;
    for (const PublishedRate& rate : published_rates())
        if (const auto found = networks_.find(rate.model); found != networks_.end())
            rows.push_back(row(rate, found->second));
    return rows;
}

std::vector<CalibrationRow> calibrate(int num_threads) {
    Calibration calibration;
    run_jobs(calibration.jobs(), num_threads);
    return calibration.rows();
}

double median_error(const std::vector<CalibrationRow>& rows) {
    if (rows.empty()) return 0;
    std::vector<double> errors;
    for (const CalibrationRow& row : rows) errors.push_back(std::abs(row.error()));
    std::ranges::sort(errors);
    const std::size_t half = errors.size() / 2;
    return errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
}

}  // namespace mpt
