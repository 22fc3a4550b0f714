// A GPU that is not there, for what the program asks of it before anything runs: convolutions, batch
// norms, pools and attention are planned by cuDNN for a description of the device, and products are taken by
// cuBLASLt, which plans nothing without a GPU, unless we know better. Which convolutions and pools are asked
// for is kept, with the answers.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/cuda/device/cublaslt_product.h"
#include "backends/cuda/device/cudnn_attention.h"
#include "backends/cuda/device/cudnn_convolution.h"
#include "backends/cuda/device/cudnn_norm.h"
#include "backends/cuda/device/cudnn_pool.h"
#include "backends/cuda/spec_text.h"
#include "config/run_config.h"
#include "core/error.h"
#include "support/cudnn_targets.h"

namespace mpt::test {

// A spec without its sizes: "backward_data f16 add mask", and "3x3 /2" of its kernel.
struct SpecWords {
    std::string pattern, kernel;
    explicit SpecWords(const gpu::ConvolutionSpec& spec) {
        // conv KIND SIZES kK RxS /STRIDE +PAD TYPE FUSIONS...
        std::istringstream text(gpu::text_of(spec));
        std::string word;
        for (int i = 0; text >> word; ++i) {
            if (i == 1 || i > 6) pattern += (pattern.empty() ? "" : " ") + word;
            if (i == 4 || i == 5) kernel += (kernel.empty() ? "" : " ") + word;
        }
    }
    std::string both() const { return pattern + ", " + kernel; }
};

class PlanningDevice final : public gpu::Device {
  public:
    struct Answer {
        gpu::ConvolutionSpec spec;
        gpu::Planned<gpu::ConvolutionArgs> planned;
        bool code_refused = false;  // by the compiler that cuDNN calls
    };

    // What cuDNN is a candidate for beside a kernel of ours.
    struct Beside {
        std::string what, engine, refusal;
        std::size_t workspace_bytes = 0;
    };

    // `uncompilable`: patterns with kernels, whose code is known not to compile.
    PlanningDevice(const std::string& arch, std::set<std::string> uncompilable)
        : Device(info_of(arch)), target_(cudnn_target(arch)), uncompilable_(std::move(uncompilable)) {
        // Those of a run by default; of the candidates the first.
        gpu::DeviceSettings settings;
        settings.deterministic = RunConfig().deterministic;
        settings.workspace_bytes = RunConfig().autotune.workspace_mib << 20;
        set(settings);
    }

    // In the order in which they were asked first.
    const std::vector<Answer>& answers() const { return answers_; }

    gpu::Planned<gpu::ConvolutionArgs> plan_convolution(const gpu::ConvolutionSpec& spec) override {
        for (const Answer& answer : answers_)
            if (answer.spec == spec) return answer.planned;
        // What is compiled, or would be, is the same program for all sizes: asked once, unless
        // MPT_EVERY_SIZE=1 asks for each.
        const std::string words = SpecWords(spec).both();
        const auto known = compiled_.find(words);
        const bool asks = known == compiled_.end() || std::getenv("MPT_EVERY_SIZE") != nullptr;
        Answer answer = asks ? ask(spec, words) : known->second;
        answer.spec = spec;
        answers_.push_back(answer);
        return answer.planned;
    }
    gpu::Planned<gpu::ProductArgs> plan_product(const gpu::ProductSpec& spec) override {
        gpu::Planned<gpu::ProductArgs> planned;
        planned.refusal = gpu::refusal_of(spec);
        if (planned.refusal.empty()) planned.run = [](const gpu::ProductArgs&) { nothing_runs(); };
        return planned;
    }
    gpu::Planned<gpu::AttentionArgs> plan_attention(const gpu::AttentionSpec& spec) override {
        gpu::CudnnGraph graph;
        gpu::add_attention(graph, spec,
                           settings().deterministic ? gpu::SumOrder::kFixed : gpu::SumOrder::kAny);
        return planned<gpu::AttentionArgs>(graph, true).first;
    }

    gpu::Planned<gpu::PoolArgs> plan_pool(const gpu::PoolSpec& spec,
                                          const gpu::OwnKernel<gpu::PoolArgs>&) override {
        return beside<gpu::PoolArgs>(spec, gpu::add_pool);
    }
    gpu::Planned<gpu::NormArgs> plan_norm(const gpu::NormSpec& spec,
                                          const gpu::OwnKernel<gpu::NormArgs>&) override {
        return beside<gpu::NormArgs>(spec, gpu::add_norm);
    }
    const std::vector<Beside>& besides() const { return besides_; }
    // As if cuDNN had been timed and were the faster one; without, nothing was timed.
    bool cudnn_is_faster = false;

    std::byte* allocate(std::size_t) override { nothing_runs(); }
    void release(std::byte*) override {}
    std::byte* allocate_pinned(std::size_t) override { nothing_runs(); }
    void release_pinned(std::byte*) override {}
    std::int64_t free_bytes() override { nothing_runs(); }
    void copy(void*, const void*, std::size_t) override { nothing_runs(); }
    void fill_zero(void*, std::size_t) override { nothing_runs(); }
    void synchronize() override { nothing_runs(); }
    std::unique_ptr<gpu::Event> make_event() override { nothing_runs(); }
    std::unique_ptr<gpu::Recording> capture(const std::function<void()>&) override { nothing_runs(); }

  private:
    [[noreturn]] static void nothing_runs() { throw InternalError("a planning device runs nothing"); }
    static gpu::DeviceInfo info_of(const std::string& arch) {
        const std::string json = device_json(arch);
        const auto number = [&](const std::string& key) {
            return std::stoi(json.substr(json.find('"' + key + '"') + key.size() + 3));
        };
        gpu::DeviceInfo info;
        info.name = arch;
        info.compute_capability = std::stoi(arch.substr(2));
        info.num_sms = number("multiProcessorCount");
        info.shared_bytes_per_block = number("maxSharedMemoryPerBlockOptin");
        return info;
    }

    Answer ask(const gpu::ConvolutionSpec& spec, const std::string& words) {
        Answer answer;
        if (uncompilable_.count(words) != 0) {
            answer.planned.refusal = "cuDNN's code does not compile";
            answer.code_refused = true;
            return compiled_[words] = answer;
        }
        gpu::CudnnGraph graph;
        gpu::add_convolution(graph, spec);
        bool compiled = false;
        std::tie(answer.planned, compiled) =
            planned<gpu::ConvolutionArgs>(graph, spec.dtype != DType::f32 || spec.tf32);
        answer.code_refused = answer.planned.refusal.find("do not compile") != std::string::npos;
        return compiled || answer.code_refused ? compiled_[words] = answer : answer;
    }

    // And whether cuDNN compiled it.
    template <typename Args>
    std::pair<gpu::Planned<Args>, bool> planned(gpu::CudnnGraph& graph, bool tensor_cores) const {
        gpu::PlanWishes wishes;
        wishes.deterministic = settings().deterministic;
        wishes.workspace_bytes = settings().workspace_bytes;
        wishes.tensor_cores = tensor_cores;
        gpu::Planned<Args> planned;
        const auto plans = graph.plans(target_, wishes, &planned.refusal);
        if (plans.empty()) return {planned, false};
        planned.run = [](const Args&) { nothing_runs(); };
        planned.workspace_bytes = static_cast<std::size_t>(plans.front().workspace_bytes);
        planned.description = plans.front().description();
        return {planned, plans.front().compiled_at_runtime};
    }

    template <typename Args, typename Spec, typename Add>
    gpu::Planned<Args> beside(const Spec& spec, const Add& add) {
        const std::string what = gpu::text_of(spec);
        auto known = std::ranges::find(besides_, what, &Beside::what);
        if (known == besides_.end()) {
            gpu::Planned<Args> plan;
            plan.refusal = gpu::refusal_of(spec);
            gpu::CudnnGraph graph;
            if (plan.refusal.empty()) add(graph, spec), plan = planned<Args>(graph, true).first;
            known = besides_.insert(known, {what, plan.description, plan.refusal, plan.workspace_bytes});
        }
        gpu::Planned<Args> plan;
        plan.description = known->engine;
        plan.refusal = known->engine.empty() || cudnn_is_faster ? known->refusal : "nothing was timed";
        plan.workspace_bytes = known->workspace_bytes;
        if (plan.refusal.empty()) plan.run = [](const Args&) { nothing_runs(); };
        return plan;
    }

    gpu::CudnnTarget target_;
    std::vector<Beside> besides_;
    std::set<std::string> uncompilable_;
    std::vector<Answer> answers_;
    std::map<std::string, Answer> compiled_;
};

}  // namespace mpt::test
