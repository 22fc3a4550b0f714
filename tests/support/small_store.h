// A store of a few variables without a model: convolution, norm with statistics, matrix, moments.
#pragma once

#include <cstring>
#include <vector>

#include "core/float_formats.h"
#include "graph/variables.h"
#include "train/weights.h"

namespace mpt::test {

class SmallStore {
  public:
    explicit SmallStore(std::int64_t classes = 3, DType masters = DType::f32) {
        const Initializer zero;
        table_.get_or_add("conv1.weight", Shape{4, 3, 2, 5}, Role::kConvWeight, zero);  // OHWI
        table_.get_or_add("bn1.weight", Shape{4}, Role::kNormGain, zero);
        table_.get_or_add("bn1.running_mean", Shape{4}, Role::kRunningMean, zero);
        table_.get_or_add("bn1.running_var", Shape{4}, Role::kRunningVariance, zero);
        table_.get_or_add("fc.weight", Shape{classes, 4}, Role::kMatrix, zero);
        add(Region::kMaster, masters, table_.parameter_elements());
        add(Region::kMoment1, DType::f32, table_.parameter_elements());
        add(Region::kEma, DType::f32, table_.parameter_elements());
        add(Region::kStatistics, DType::f32, table_.statistics_elements());
    }
    StoreView view() {
        StoreView view;
        view.table = &table_;
        for (std::size_t r = 0; r < memory_.size(); ++r)
            view.regions[r] = memory_[r].empty() ? nullptr : memory_[r].data();
        return view;
    }
    // Element i of every tensor becomes something of its own, depending on `seed`.
    void fill(float seed) {
        float value = seed;
        for (const Region r : {Region::kMaster, Region::kMoment1, Region::kEma, Region::kStatistics})
            for (std::int64_t i = 0; i < table_.region(r).elements; ++i) set(r, i, value += 0.25f);
    }
    void set(Region r, std::int64_t element, float value) {
        const DType dtype = table_.region(r).dtype;
        std::byte* place = bytes(r).data() + element * static_cast<std::int64_t>(size_of(dtype));
        const f16 half(value);
        std::memcpy(place, dtype == DType::f16 ? static_cast<const void*>(&half) : &value, size_of(dtype));
    }
    float get(Region r, std::int64_t element) {
        float value = 0;
        std::memcpy(&value, bytes(r).data() + element * 4, 4);
        return value;
    }
    std::vector<std::byte>& bytes(Region r) { return memory_[static_cast<std::size_t>(r)]; }
    // Tensor by tensor: alignment gaps are nobody's business.
    bool equals(SmallStore& other) {
        for (const Region r : {Region::kMoment1, Region::kEma})
            if (!same(region_tensors(view(), r, ""), region_tensors(other.view(), r, ""))) return false;
        return same(weight_tensors(view()), weight_tensors(other.view()));
    }

  private:
    void add(Region r, DType dtype, std::int64_t elements) {
        table_.enable(r, dtype, elements);
        bytes(r).resize(static_cast<std::size_t>(table_.region_bytes(r)));
    }
    static bool same(const std::vector<FileTensor>& a, const std::vector<FileTensor>& b) {
        for (std::size_t i = 0; i < a.size(); ++i)
            if (std::memcmp(a[i].data, b[i].data, static_cast<std::size_t>(a[i].bytes())) != 0) return false;
        return a.size() == b.size();
    }
    VariableTable table_;
    std::vector<std::vector<std::byte>> memory_ = std::vector<std::vector<std::byte>>(kNumRegions);
};

}  // namespace mpt::test
