// What outlives a step: parameters, their gradients and moments, running statistics, the step's control
// block. A table of layouts only; the memory belongs to exec::Store.
//
// The parameter regions (master, narrow, gradient, moment1, moment2, ema) have the same element offsets, so
// one optimizer kernel walks them side by side; statistics, control and scaling have offsets of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace mpt {

enum class Region : std::uint8_t {
    kMaster,
    kNarrow,
    kGradient,
    kMoment1,
    kMoment2,
    kEma,
    kStatistics,
    kControl,
    kScaling
};
inline constexpr int kNumRegions = 9;
const char* name_of(Region region);

// What a parameter is, for initialisation, weight decay and file layout.
enum class Role : std::uint8_t {
    kConvWeight,       // [out, h, w, in]; in files [out, in, h, w]
    kMatrix,           // [out, in]
    kEmbedding,        // [vocabulary, width]
    kBias,             // [n]
    kNormGain,         // [n]
    kNormBias,         // [n]
    kRunningMean,      // [n], statistics
    kRunningVariance,  // [n], statistics
};
constexpr bool is_statistic(Role role) {
    return role == Role::kRunningMean || role == Role::kRunningVariance;
}

struct Initializer {
    enum class Kind : std::uint8_t { kConstant, kNormal, kUniform } kind = Kind::kConstant;
    float a = 0;  // the constant, the standard deviation, or the bound of (-a, a)
};

// Where files differ from memory, beyond what the role says.
struct FileLayout {
    bool transposed = false;  // a matrix [out, in] that is [in, out] in files
    // Of the first dimension in files; what follows in memory is padding: zero, and no parameter. 0: all.
    std::int64_t rows = 0;
    bool operator==(const FileLayout&) const = default;
};

struct Variable {
    std::string name;  // as in files, e.g. layer1.0.conv1.weight
    Shape shape;
    Role role = Role::kMatrix;
    Initializer init;
    std::int64_t offset = 0;  // elements, within its regions; a multiple of kVariableAlignment
    FileLayout layout = {};
    // The parameters it has, without padded rows; they come first.
    std::int64_t num_elements() const {
        const std::int64_t all = shape.num_elements();
        return layout.rows == 0 ? all : all / shape[0] * layout.rows;
    }
};

// The state of a tensor's fp8 scale (ops/quantize_fp8), f32 in Region::kScaling. No variable: it belongs to a
// way to multiply, not to the model.
struct ScalingState {
    std::string name;  // of the quantised value
    std::int64_t offset = 0, elements = 0;
};

inline constexpr std::int64_t kVariableAlignment = 32;  // elements: 128 bytes of f32, 64 of f16

class VariableTable {
  public:
    // Index of the variable of this name, added when new. A second use must agree in shape, role and layout.
    int get_or_add(const std::string& name, const Shape& shape, Role role, Initializer init,
                   FileLayout layout = {});
    const std::vector<Variable>& all() const { return variables_; }
    const Variable& operator[](int index) const { return variables_[static_cast<std::size_t>(index)]; }
    int find(const std::string& name) const;  // -1 when there is none

    // Offset of the state of this name, added when new. A second use must agree in size.
    std::int64_t scaling_offset(const std::string& name, std::int64_t elements);
    const std::vector<ScalingState>& scaling() const { return scaling_; }

    std::int64_t num_parameters() const;  // true count of trainable elements
    std::int64_t parameter_elements() const { return parameter_elements_; }  // with alignment padding
    std::int64_t statistics_elements() const { return statistics_elements_; }

    // Element type of a region, and whether the run has it at all (bytes 0 when not).
    struct RegionInfo {
        DType dtype = DType::f32;
        std::int64_t elements = 0;
    };
    RegionInfo region(Region r) const { return regions_[static_cast<std::size_t>(r)]; }
    std::int64_t region_bytes(Region r) const;
    // Passes declare what a run needs; master, gradient and statistics follow from the variables.
    void enable(Region r, DType dtype, std::int64_t elements);

  private:
    std::vector<Variable> variables_;
    std::vector<ScalingState> scaling_;
    std::int64_t parameter_elements_ = 0;
    std::int64_t statistics_elements_ = 0;
    std::array<RegionInfo, kNumRegions> regions_{};
};

}  // namespace mpt
