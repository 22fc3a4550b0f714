// Training of a small model by the graphs of a run: micro-step and AdamW over one store.
#pragma once

#include "layers/update.h"
#include "ops/loss_seed/loss_seed.h"
#include "optim/segments.h"
#include "support/model_run.h"

namespace mpt::test {

class ModelTraining {
  public:
    // `build` returns the summed loss. AdamW as in scripts/golden/make_model_golden.py.
    ModelTraining(const std::function<ValueId(GraphBuilder&)>& build, DType narrow) {
        Graph micro, update;
        micro.name = "micro_step";
        update.name = "update";
        GraphBuilder builder(micro, &variables_);
        const ValueId loss = build(builder);
        if (narrow != DType::f32) variables_.enable(Region::kNarrow, narrow, variables_.parameter_elements());

        UpdateConfig config;
        config.rule.schedule.base = 0.002;
        config.rule.clip_norm = 1;
        config.rule.loss_scale.init = narrow == DType::f16 ? 1024 : 1;
        config.optimizer =
            AdamUpdateAttributes{0.9, 0.95, 1e-8, 0.1, true, decay_groups(variables_, {}).segments};
        enable_update_regions(variables_, config);
        const ValueId seed =
            loss_seed(builder, builder.input("weight", {{}, DType::f32}), control_value(builder));
        GraphBuilder update_builder(update, &variables_);
        build_update(update_builder, config);

        micro_ = compiled(builder, loss, seed, GraphKind::kTrain, narrow);
        update_ = compiled(update_builder, kNone, kNone, GraphKind::kUpdate, DType::f32);
        const StoreLayout layout = lay_out(variables_, std::max(micro_.arena_bytes, update_.arena_bytes));
        memory_ = std::make_unique<GuardedBuffer>(static_cast<std::size_t>(layout.bytes));
        std::memset(memory_->data(), 0, static_cast<std::size_t>(layout.step_arena_offset));
        store_ = Store(variables_, layout, static_cast<std::byte*>(memory_->data()));
        const StepControl control = initial_control(config.rule);
        std::memcpy(store_.region(Region::kControl), &control, sizeof(control));
        micro_step_ = std::make_unique<Executor>(micro_, store_);
        update_step_ = std::make_unique<Executor>(update_, store_);
    }

    StoreView view() const { return view_of(variables_, store_); }
    void weights_changed() { write_narrow(variables_, store_); }
    // One micro-step and the update. The inputs are set again each time: the update uses the same arena.
    float step(const std::map<std::string, std::vector<std::int32_t>>& inputs, float weight) {
        for (const auto& [name, values] : inputs)
            std::ranges::copy(values, micro_step_->input<std::int32_t>(name).begin());
        micro_step_->input<float>("weight")[0] = weight;
        micro_step_->run();
        const float loss = micro_step_->output<float>("loss_sum")[0];
        update_step_->run();
        MPT_CHECK(memory_->intact(), "a plan wrote past its memory");
        return loss * weight;
    }

  private:
    static Plan compiled(GraphBuilder& builder, ValueId loss, ValueId seed, GraphKind kind, DType narrow) {
        PipelineOptions options;
        options.kind = kind;
        options.precision.narrow = narrow;
        options.kernels = &cpu_kernels();
        run_pipeline(builder, loss, seed, options);
        return compile(std::move(builder.graph()), {&cpu_kernels(), 1});
    }

    VariableTable variables_;
    Plan micro_, update_;
    std::unique_ptr<GuardedBuffer> memory_;
    Store store_;
    std::unique_ptr<Executor> micro_step_, update_step_;
};

}  // namespace mpt::test
