// Runs of seconds: ResNet-20 on a few synthetic images of 8x8 in a scratch folder.
#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "config/read.h"
#include "support/scratch_folder.h"
#include "train/safetensors.h"
#include "train/trainer.h"

namespace mpt::test {

using Rows = std::vector<nlohmann::json>;

inline RunConfig small_config(const std::filesystem::path& output) {
    RunConfig config;
    config.name = "small";
    config.output_dir = output.string();
    config.threads = 1;
    config.model.depth = 20;
    config.model.num_classes = 4;
    config.data.type = DataType::kSynthetic;
    config.data.image_size = 8;
    config.data.channels = 1;
    config.data.num_samples = 20;  // and 4 to evaluate on
    config.data.workers = 0;
    config.train.epochs.reset();
    config.train.steps = 4;
    config.train.batch_size = 4;
    config.train.log_every = 1;
    config.train.eval_every = {};
    config.optimizer.lr = 0.05;
    config.checkpoint.every = {};
    config.log.console = ConsoleStyle::kQuiet;
    return config;
}

struct Wanted {
    ResumeKind resume = ResumeKind::kNo;
    std::string path = {};
    Existing existing = Existing::kKeep;
    const StopFlag* stop = nullptr;
    std::function<RunsOn()> runs_on = {};  // instead of the CPU
};

inline TrainResult run(const RunConfig& config, const Wanted& wanted = {}) {
    TrainRequest request;
    request.config = config;
    request.resolved = echo(config);
    request.resume = {wanted.resume, wanted.path};
    request.existing = wanted.existing;
    request.stop = wanted.stop;
    request.runs_on = wanted.runs_on;
    request.console = stdout;
    return train(request);
}

// Rows of a kind ("" for all); every line must be strict JSON.
inline Rows rows_of(const std::filesystem::path& run_directory, const std::string& kind) {
    Rows rows;
    std::istringstream lines(file_text(run_directory / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
        nlohmann::json row = nlohmann::json::parse(line);
        if (kind.empty() || row.at("kind") == kind) rows.push_back(std::move(row));
    }
    return rows;
}

// A column of rows as text, so that equal means equal to the last digit.
inline std::vector<std::string> column(const Rows& rows, const std::string& name) {
    std::vector<std::string> values;
    for (const auto& row : rows) values.push_back(row.at(name).dump());
    return values;
}

inline std::filesystem::path checkpoint_at(const std::filesystem::path& run_directory, int step) {
    char name[32];
    std::snprintf(name, sizeof(name), "step-%08d", step);
    return run_directory / "checkpoints" / name;
}

inline std::string weights_of(const std::filesystem::path& run_directory, int step) {
    return file_text(checkpoint_at(run_directory, step) / "weights.safetensors");
}

}  // namespace mpt::test
