// Operation graphs of cuDNN and plans for them: tensors and operations are added, plan() asks the heuristics
// and finalises what they offer. A device need not be there: its description in JSON is enough to plan, not
// to run.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/device/cudnn_library.h"

namespace mpt::gpu {

// What plans are made for.
class CudnnTarget {
  public:
    static CudnnTarget of_device(int index);
    static CudnnTarget of_json(const std::string& json);
    const Descriptor& properties() const { return properties_; }

  private:
    explicit CudnnTarget(Descriptor properties) : properties_(std::move(properties)) {}
    Descriptor properties_;
};

struct CudnnPlan {
    std::shared_ptr<Descriptor> plan;
    std::int64_t engine = 0;  // global index within the graph
    std::int64_t workspace_bytes = 0;
    int config = 0;  // place in the list of the heuristics
    bool tensor_core = false, deterministic = true;
    bool compiled_at_runtime = false;
    std::string description() const;
    // The same plan in another process, for the journal: engine and knobs as cuDNN lists them.
    std::string key() const { return std::to_string(config) + ":" + std::to_string(engine); }
};

struct PlanWishes {
    bool deterministic = true;
    bool tensor_cores = true;  // false: none, so that f32 is not rounded to tf32
    std::int64_t workspace_bytes = std::int64_t{256} << 20;
    int most = 1;           // plans, best first
    std::string only = {};  // the plan of this key alone
};

class CudnnGraph {
  public:
    using Id = std::int64_t;

    // Dimensions in cuDNN's order, outermost first; strides in elements. Virtual tensors are never stored.
    enum class Kept { kStored, kVirtual };
    Id tensor(DType dtype, const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
              Kept kept = Kept::kStored) {
        return tensor(cudnn_type(dtype), dims, strides, kept);
    }
    Id tensor(cudnnDataType_t type, const std::vector<std::int64_t>& dims,
              const std::vector<std::int64_t>& strides, Kept kept = Kept::kStored);
    // [n,c,h,w] as it lies in NHWC memory; a filter is k,c,r,s in KRSC.
    Id image(DType dtype, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
             Kept kept = Kept::kStored);
    // The same memory seen with other dimensions.
    Id alias(Id of, DType dtype, const std::vector<std::int64_t>& dims,
             const std::vector<std::int64_t>& strides);
    // Of f32 and known when the graph is built; each of `rank` dimensions is 1.
    Id scalar(float value, std::size_t rank = 4);
    // A value for each channel of an image.
    Id channels(std::int64_t c, Kept kept = Kept::kStored) {
        return tensor(DType::f32, {1, c, 1, 1}, {c, 1, c, c}, kept);
    }
    const std::deque<std::pair<Id, float>>& scalars() const { return scalars_; }
    Descriptor& operation(cudnnBackendDescriptorType_t type);
    const Descriptor& operator[](Id id) const { return *tensors_[static_cast<std::size_t>(id - 1)]; }
    Descriptor& keep(Descriptor descriptor);  // until the graph is gone

    // Plans that fit, in the order of the heuristics; none when cuDNN has nothing, why in `refusal`.
    std::vector<CudnnPlan> plans(const CudnnTarget& target, const PlanWishes& wishes, std::string* refusal);

  private:
    enum class Memory { kDevice, kNone, kByValue };
    Id add(cudnnDataType_t type, const std::vector<std::int64_t>& dims,
           const std::vector<std::int64_t>& strides, Id id, Memory memory);
    void finalize();
    std::vector<Descriptor> configs(const CudnnTarget& target, cudnnBackendHeurMode_t mode);

    std::vector<std::unique_ptr<Descriptor>> tensors_;
    std::deque<std::pair<Id, float>> scalars_;  // a plan reads the values from here
    std::deque<Descriptor> operations_, kept_;
    std::optional<Descriptor> graph_;
};

}  // namespace mpt::gpu
