#include "backends/cuda/device/cudnn_graph.h"

#include <array>
#include <map>

#include "core/error.h"

namespace mpt::gpu {

namespace {

// Engines compiled at run time take a second each: so many of them are candidates. One whose code does not
// compile does so for none of its configurations: after so many it is not tried again.
constexpr int kMostCompiled = 2;
constexpr int kMostFailures = 2;

struct Notes {
    bool tensor_core = false, lossy = false, deterministic = true, runtime = false;
};

Notes notes_of(const Descriptor& engine) {
    Notes notes;
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> numerical{};
    std::int64_t count = 0;
    check_cudnn(
        cudnn().get_attribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                              CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, numerical.data()),
        "engine notes");
    for (std::int64_t i = 0; i < count; ++i) {
        const auto note = numerical[static_cast<std::size_t>(i)];
        if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) notes.tensor_core = true;
        if (note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
            note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
            notes.lossy = true;
        if (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) notes.deterministic = false;
    }
    std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT> behavior{};
    check_cudnn(cudnn().get_attribute(engine.get(), CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                      CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, behavior.data()),
                "engine notes");
    for (std::int64_t i = 0; i < count; ++i)
        if (behavior[static_cast<std::size_t>(i)] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
            notes.runtime = true;
    return notes;
}

// Makes plans of the configurations that cuDNN offers for a graph, one after the other.
class PlanSearch {
  public:
    PlanSearch(const CudnnTarget& target, const PlanWishes& wishes) : target_(target), wishes_(wishes) {}

    // The plan of the next one; none when it is not wished for or there is none.
    std::optional<CudnnPlan> next(const Descriptor& config) {
        CudnnPlan p;
        p.config = offered_++;
        const Descriptor engine = engine_of(config);
        p.engine = engine.get_integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
        if (!wishes_.only.empty() && p.key() != wishes_.only) return std::nullopt;
        const Notes notes = notes_of(engine);
        if (notes.lossy || (wishes_.deterministic && !notes.deterministic) ||
            (!wishes_.tensor_cores && notes.tensor_core)) {
            ++unfit_;
            return std::nullopt;
        }
        auto plan = std::make_shared<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
        plan->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target_.properties());
        if (notes.runtime ? !compiles(*plan, p.engine) : !plan->try_finalize()) return std::nullopt;
        p.workspace_bytes = plan->get_integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
        if (p.workspace_bytes > wishes_.workspace_bytes) {
            ++greedy_;
            return std::nullopt;
        }
        p.plan = std::move(plan);
        p.tensor_core = notes.tensor_core;
        p.deterministic = notes.deterministic;
        p.compiled_at_runtime = notes.runtime;
        compiled_ += notes.runtime ? 1 : 0;
        return p;
    }

    // When none was found.
    std::string refusal() const {
        if (offered_ == 0) return "cuDNN has no engine for this graph";
        std::string text = "cuDNN offers " + std::to_string(offered_) + " configurations";
        const auto add = [&](int count, const std::string& what) {
            if (count > 0) text += ", " + std::to_string(count) + " " + what;
        };
        add(unfit_, "inexact or not deterministic");
        add(greedy_, "that want more than " + std::to_string(wishes_.workspace_bytes >> 20) + " MiB");
        add(not_compiled_, "that do not compile");
        add(offered_ - unfit_ - greedy_ - not_compiled_, "without a plan");
        return text;
    }

  private:
    static Descriptor engine_of(const Descriptor& config) {
        Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        cudnnBackendDescriptor_t raw = engine.get();
        std::int64_t count = 0;
        check_cudnn(cudnn().get_attribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
                    "engine");
        return engine;
    }

    bool compiles(Descriptor& plan, std::int64_t engine) {
        if (compiled_ == kMostCompiled) return false;
        int& failures = failures_[engine];
        if (failures < kMostFailures && plan.try_finalize()) return true;
        ++failures, ++not_compiled_;
        return false;
    }

    const CudnnTarget& target_;
    const PlanWishes& wishes_;
    int offered_ = 0, unfit_ = 0, greedy_ = 0, compiled_ = 0, not_compiled_ = 0;
    std::map<std::int64_t, int> failures_;  // of engines compiled at run time
};

}  // namespace

CudnnTarget CudnnTarget::of_device(int index) {
    Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    const std::int32_t device = index;
    properties.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &device);
    properties.finalize();
    return CudnnTarget(std::move(properties));
}

CudnnTarget CudnnTarget::of_json(const std::string& json) {
    Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   static_cast<std::int64_t>(json.size()), json.c_str());
    properties.finalize();
    return CudnnTarget(std::move(properties));
}

std::string CudnnPlan::description() const {
    std::string text = "cudnn engine " + std::to_string(engine);
    if (compiled_at_runtime) text += ", compiled at run time";
    return text;
}

CudnnGraph::Id CudnnGraph::add(cudnnDataType_t type, const std::vector<std::int64_t>& dims,
                               const std::vector<std::int64_t>& strides, Id id, Memory memory) {
    auto t = std::make_unique<Descriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    t->set_data_type(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    t->set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    t->set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    t->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    t->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{memory == Memory::kByValue ? 4 : 16});
    if (memory == Memory::kNone) t->set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    if (memory == Memory::kByValue) t->set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    t->finalize();
    tensors_.push_back(std::move(t));
    return static_cast<Id>(tensors_.size());
}

CudnnGraph::Id CudnnGraph::tensor(cudnnDataType_t type, const std::vector<std::int64_t>& dims,
                                  const std::vector<std::int64_t>& strides, Kept kept) {
    return add(type, dims, strides, static_cast<Id>(tensors_.size()) + 1,
               kept == Kept::kStored ? Memory::kDevice : Memory::kNone);
}

CudnnGraph::Id CudnnGraph::alias(Id of, DType dtype, const std::vector<std::int64_t>& dims,
                                 const std::vector<std::int64_t>& strides) {
    return add(cudnn_type(dtype), dims, strides, of, Memory::kDevice);
}

CudnnGraph::Id CudnnGraph::scalar(float value, std::size_t rank) {
    const std::vector<std::int64_t> ones(rank, 1);
    const Id id = add(CUDNN_DATA_FLOAT, ones, ones, static_cast<Id>(tensors_.size()) + 1, Memory::kByValue);
    scalars_.emplace_back(id, value);
    return id;
}

CudnnGraph::Id CudnnGraph::image(DType dtype, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                                 Kept kept) {
    return tensor(dtype, {n, c, h, w}, {c * h * w, 1, c * w, c}, kept);
}

Descriptor& CudnnGraph::operation(cudnnBackendDescriptorType_t type) {
    return operations_.emplace_back(type);
}

Descriptor& CudnnGraph::keep(Descriptor descriptor) {
    return kept_.emplace_back(std::move(descriptor));
}

void CudnnGraph::finalize() {
    if (graph_) return;
    std::vector<cudnnBackendDescriptor_t> operations;
    for (Descriptor& operation : operations_) {
        operation.finalize();
        operations.push_back(operation.get());
    }
    graph_.emplace(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                static_cast<std::int64_t>(operations.size()), operations.data());
    graph_->finalize();
}

std::vector<Descriptor> CudnnGraph::configs(const CudnnTarget& target, cudnnBackendHeurMode_t mode) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties());
    std::vector<Descriptor> results;
    if (!heuristics.try_finalize()) return results;
    std::int64_t count = 0;
    check_cudnn(cudnn().get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
                "heuristics");
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < count; ++i)
        raw.push_back(results.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
    if (count != 0)
        check_cudnn(cudnn().get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()),
                    "heuristics");
    while (static_cast<std::int64_t>(results.size()) > count) results.pop_back();
    return results;
}

std::vector<CudnnPlan> CudnnGraph::plans(const CudnnTarget& target, const PlanWishes& wishes,
                                         std::string* refusal) {
    std::vector<CudnnPlan> found;
    try {
        finalize();
    } catch (const InternalError&) {
        *refusal = "cuDNN takes no such graph";
        return found;
    }
    PlanSearch search(target, wishes);
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
        for (const Descriptor& config : configs(target, mode)) {
            std::optional<CudnnPlan> plan = search.next(config);
            if (!plan) continue;
            found.push_back(*std::move(plan));
            if (static_cast<int>(found.size()) == wishes.most) return found;
        }
    if (found.empty()) *refusal = search.refusal();
    return found;
}

}  // namespace mpt::gpu
