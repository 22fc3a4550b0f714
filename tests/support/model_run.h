// A model as one compiled graph with memory of its own: weights in and gradients out as tensors of files.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/float_formats.h"
#include "exec/executor.h"
#include "graph/builder.h"
#include "passes/pipeline.h"
#include "support/guarded_buffer.h"
#include "support/scratch_folder.h"
#include "train/weights.h"

namespace mpt::test {

inline StoreView view_of(const VariableTable& variables, const Store& store) {
    StoreView view;
    view.table = &variables;
    for (int r = 0; r < kNumRegions; ++r)
        view.regions[static_cast<std::size_t>(r)] = store.region(static_cast<Region>(r));
    return view;
}

// The narrow copy of the masters, where the run has one.
inline void write_narrow(const VariableTable& variables, const Store& store) {
    const VariableTable::RegionInfo info = variables.region(Region::kNarrow);
    const auto* master = reinterpret_cast<const float*>(store.region(Region::kMaster));
    for (std::int64_t i = 0; i < info.elements; ++i)
        reference::store(store.region(Region::kNarrow), info.dtype, i, static_cast<double>(master[i]));
}

struct ModelOptions {
    GraphKind kind = GraphKind::kEvaluate;
    bool recompute_blocks = false;
    DType narrow = DType::f32;
    const KernelTable* kernels = &cpu_kernels();
};

class ModelRun {
  public:
    // What `build` returns is differentiated (when training) with the graph input "seed" of its shape.
    ModelRun(const std::function<ValueId(GraphBuilder&)>& build, const ModelOptions& options = {}) {
        Graph graph;
        graph.name = "model";
        GraphBuilder builder(graph, &variables_);
        const ValueId result = build(builder);
        ValueId seed = kNone;
        if (result != kNone) builder.output("result", result);
        if (options.kind == GraphKind::kTrain) seed = builder.input("seed", builder.type(result));
        PipelineOptions pipeline;
        pipeline.kind = options.kind;
        pipeline.recompute_blocks = options.recompute_blocks;
        pipeline.precision.narrow = options.narrow;
        pipeline.kernels = options.kernels;
        if (options.narrow != DType::f32)
            variables_.enable(Region::kNarrow, options.narrow, variables_.parameter_elements());
        run_pipeline(builder, result, seed, pipeline);
        plan_ = compile(std::move(graph), {options.kernels, 1});
        const StoreLayout layout = lay_out(variables_, plan_.arena_bytes);
        memory_ = std::make_unique<GuardedBuffer>(static_cast<std::size_t>(layout.bytes));
        std::memset(memory_->data(), 0,
                    static_cast<std::size_t>(layout.step_arena_offset));  // the arena: NaN
        store_ = Store(variables_, layout, static_cast<std::byte*>(memory_->data()));
        executor_ = std::make_unique<Executor>(plan_, store_);
    }

    const Plan& plan() const { return plan_; }
    const VariableTable& variables() const { return variables_; }
    Executor& executor() { return *executor_; }
    StoreView view() const { return view_of(variables_, store_); }
    void load(const std::filesystem::path& file) {
        read_tensors(SafetensorsFile(file), weight_tensors(view()), Conversion::kExact);
        write_narrow(variables_, store_);
    }
    template <typename T>
    void set(const std::string& input, const std::vector<T>& values) {
        const auto to = executor_->input<T>(input);
        MPT_CHECK(to.size() == values.size(), input + " has another size");
        std::ranges::copy(values, to.begin());
    }
    std::vector<float> get(const std::string& output) const {
        const ValueId id = plan_.graph.output(output);
        const reference::Tensor values{executor_->address(id), plan_.graph.type(id)};
        std::vector<float> all;
        for (std::int64_t i = 0; i < values.size(); ++i) all.push_back(static_cast<float>(values(i)));
        return all;
    }
    // Runs; gradients are those of this run alone.
    void run() {
        if (std::byte* gradient = store_.region(Region::kGradient))
            std::memset(gradient, 0, static_cast<std::size_t>(variables_.region_bytes(Region::kGradient)));
        executor_->run();
        MPT_CHECK(memory_->intact(), "the plan wrote past its memory");
    }
    // As in files.
    std::map<std::string, std::vector<float>> gradients() const {
        const ScratchFolder folder;
        write_tensors(folder / "g", region_tensors(view(), Region::kGradient, ""));
        const SafetensorsFile file(folder / "g");
        std::map<std::string, std::vector<float>> all;
        for (const TensorEntry& entry : file.tensors()) {
            const std::vector<std::byte> bytes = file.read(entry);
            std::vector<float>& values = all[entry.name];
            values.resize(bytes.size() / sizeof(float));
            std::memcpy(values.data(), bytes.data(), bytes.size());
        }
        return all;
    }

  private:
    VariableTable variables_;
    Plan plan_;
    std::unique_ptr<GuardedBuffer> memory_;
    Store store_;
    std::unique_ptr<Executor> executor_;
};

}  // namespace mpt::test
