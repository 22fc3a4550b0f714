// Regions of the store as tensors of a file, with the names and shapes of torchvision (OHWI in memory is OIHW
// in files), of Hugging Face's GPT-2 (matrices are transposed) and of torch.nn.Transformer. Rows that pad a
// vocabulary are in no file and stay zero. Files may put "transformer." before every name, and may hold what
// those programs write beside weights: batch counters, causal masks, a second copy of a tied output matrix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "graph/variables.h"
#include "train/safetensors.h"

namespace mpt {

// Where the regions lie; nullptr for those the run does not have.
struct StoreView {
    const VariableTable* table = nullptr;
    std::array<std::byte*, kNumRegions> regions{};
    std::byte* region(Region r) const { return regions[static_cast<std::size_t>(r)]; }
};

// One tensor of a file and its place in memory.
struct FileTensor {
    std::string name;
    FileType type = FileType::F32;
    Shape shape;  // in the file
    std::byte* data = nullptr;
    enum class Order : std::uint8_t {
        kSame,
        kChannelsLast,  // OHWI in memory, OIHW in the file
        kTransposed,    // [out, in] in memory, [in, out] in the file
    } order = Order::kSame;
    std::int64_t padding = 0;  // elements of padding behind it in memory
    std::int64_t bytes() const { return shape.num_elements() * static_cast<std::int64_t>(size_of(type)); }
};

// Masters and running statistics, in the order of the table.
std::vector<FileTensor> weight_tensors(const StoreView& store);
// Every trainable variable's part of one region; empty when the run has no such region.
std::vector<FileTensor> region_tensors(const StoreView& store, Region region, const std::string& prefix);

// Name of the first tensor with an element that is not finite; empty when there is none.
std::string first_nonfinite(const std::vector<FileTensor>& tensors);
// The name of the first running variance with a value below zero; empty when there is none.
std::string first_negative_variance(const std::vector<FileTensor>& tensors);

// Writes the tensors; with `num_batches_tracked` every norm layer gets that counter, as PyTorch has it.
FileDigest write_tensors(const std::filesystem::path& path, const std::vector<FileTensor>& tensors,
                         std::optional<std::int64_t> num_batches_tracked = {});

enum class Conversion {
    kExact,  // dtypes must be equal, so that every bit comes back
    kAny,    // any floating dtype, rounded to the one in memory
};
// A tensor that does not fit, and a sentence why: wrong shape, wrong dtype, missing in the file or unknown.
struct Mismatch {
    std::string tensor;
    std::string fault;
};
std::vector<Mismatch> compare_tensors(const SafetensorsFile& file, const std::vector<FileTensor>& tensors,
                                      Conversion conversion);

// All or nothing: throws Error(kCheckpoint) naming the first mismatch and the count before touching memory.
void read_tensors(const SafetensorsFile& file, const std::vector<FileTensor>& tensors, Conversion conversion);
// Loads what fits and returns what does not.
std::vector<Mismatch> read_fitting_tensors(const SafetensorsFile& file,
                                           const std::vector<FileTensor>& tensors);

}  // namespace mpt
