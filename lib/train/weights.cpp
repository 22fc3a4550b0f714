#include "train/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/float_formats.h"

namespace mpt {
namespace {

constexpr std::string_view kCounterSuffix = ".num_batches_tracked";
constexpr std::array<std::string_view, 3> kBuffers = {kCounterSuffix, ".attn.bias", ".attn.masked_bias"};
constexpr std::string_view kOuterName = "transformer.";
constexpr std::string_view kVariance = "running_var";

bool is_floating(FileType type) {
    return type == FileType::F64 || type == FileType::F32 || type == FileType::F16 || type == FileType::BF16;
}

FileTensor file_tensor(const Variable& variable, DType dtype, std::byte* base, const std::string& prefix) {
    FileTensor tensor;
    tensor.name = prefix + variable.name;
    tensor.type = file_type_of(dtype);
    tensor.shape = variable.shape;
    tensor.data = base + variable.offset * static_cast<std::int64_t>(size_of(dtype));
    const Shape& s = variable.shape;
    if (variable.role == Role::kConvWeight) {  // OHWI
        tensor.shape = Shape{s[0], s[3], s[1], s[2]};
        tensor.order = FileTensor::Order::kChannelsLast;
    } else if (variable.layout.transposed) {
        tensor.shape = Shape{s[1], s[0]};
        tensor.order = FileTensor::Order::kTransposed;
    } else if (variable.layout.rows > 0) {
        std::vector<std::int64_t> dims = s.dims();
        dims[0] = variable.layout.rows;
        tensor.shape = Shape(std::move(dims));
        tensor.padding = s.num_elements() - variable.num_elements();
    }
    return tensor;
}

enum class Direction { kToFile, kToMemory };

// Files hold [outer, rows, columns] where memory holds [outer, columns, rows].
struct Permutation {
    std::int64_t outer = 1, rows = 0, columns = 0;

    explicit Permutation(const FileTensor& tensor) {
        const Shape& s = tensor.shape;
        if (tensor.order == FileTensor::Order::kChannelsLast)
            outer = s[0], rows = s[1], columns = s[2] * s[3];
        else
            rows = s[0], columns = s[1];
    }
};

template <typename T>
void permute_as(const Permutation& p, const std::byte* from, std::byte* to, Direction direction) {
    const auto* source = reinterpret_cast<const T*>(from);
    auto* target = reinterpret_cast<T*>(to);
    for (std::int64_t o = 0; o < p.outer; ++o)
        for (std::int64_t r = 0; r < p.rows; ++r)
            for (std::int64_t c = 0; c < p.columns; ++c) {
                const std::int64_t in_file = (o * p.rows + r) * p.columns + c;
                const std::int64_t in_memory = (o * p.columns + c) * p.rows + r;
                if (direction == Direction::kToFile)
                    target[in_file] = source[in_memory];
                else
                    target[in_memory] = source[in_file];
            }
}

// Copies one tensor between the orders of memory and file.
void permute(const FileTensor& tensor, const std::byte* from, std::byte* to, Direction direction) {
    if (tensor.order == FileTensor::Order::kSame) {
        std::memcpy(to, from, static_cast<std::size_t>(tensor.bytes()));
    } else if (size_of(tensor.type) == 4) {
        permute_as<std::uint32_t>(Permutation(tensor), from, to, direction);
    } else {
        MPT_CHECK(size_of(tensor.type) == 2, tensor.name);
        permute_as<std::uint16_t>(Permutation(tensor), from, to, direction);
    }
}

// The tensor by its name, or by that which a whole model around it gives it.
const TensorEntry* entry_of(const SafetensorsFile& file, const FileTensor& tensor) {
    const TensorEntry* entry = file.find(tensor.name);
    return entry != nullptr ? entry : file.find(std::string(kOuterName) + tensor.name);
}

// What other programs write beside the weights of a model that has no such tensor.
bool is_beside_weights(std::string_view name) {
    if (name.starts_with(kOuterName)) name.remove_prefix(kOuterName.size());
    return name == "lm_head.weight" ||
           std::ranges::any_of(kBuffers, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

template <typename T>
T element(const std::byte* data, std::int64_t index) {
    T value;
    std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
}

double value_at(FileType type, const std::byte* data, std::int64_t index) {
    switch (type) {
        case FileType::F64:
            return element<double>(data, index);
        case FileType::F32:
            return static_cast<double>(element<float>(data, index));
        case FileType::F16:
            return static_cast<double>(f16_value(element<std::uint16_t>(data, index)));
        case FileType::BF16:
            return static_cast<double>(bf16_value(element<std::uint16_t>(data, index)));
        default:
            return 0;
    }
}

void store_at(FileType type, std::byte* data, std::int64_t index, double value) {
    const auto put = [&](auto stored) {
        std::memcpy(data + index * static_cast<std::int64_t>(sizeof(stored)), &stored, sizeof(stored));
    };
    const auto single = static_cast<float>(value);
    if (type == FileType::F64) put(value);
    if (type == FileType::F32) put(single);
    if (type == FileType::F16) put(f16_bits(single));
    if (type == FileType::BF16) put(bf16_bits(single));
}

std::vector<std::byte> converted(const std::vector<std::byte>& data, FileType from, FileType to) {
    if (from == to) return data;
    const auto count = static_cast<std::int64_t>(data.size() / size_of(from));
    std::vector<std::byte> result(static_cast<std::size_t>(count) * size_of(to));
    for (std::int64_t i = 0; i < count; ++i) store_at(to, result.data(), i, value_at(from, data.data(), i));
    return result;
}

std::string describe(FileType type, const Shape& shape) {
    return std::string(name_of(type)) + " " + to_string(shape);
}

std::string fault_of(const TensorEntry* entry, const FileTensor& tensor, Conversion conversion) {
    if (entry == nullptr) return "missing in the file, the model has " + describe(tensor.type, tensor.shape);
    const bool type_fits =
        entry->type == tensor.type || (conversion == Conversion::kAny && is_floating(entry->type));
    if (entry->shape == tensor.shape && type_fits) return {};
    return "the file has " + describe(entry->type, entry->shape) + ", the model has " +
           describe(tensor.type, tensor.shape);
}

void load(const SafetensorsFile& file, const TensorEntry& entry, const FileTensor& tensor) {
    const std::vector<std::byte> bytes = converted(file.read(entry), entry.type, tensor.type);
    permute(tensor, bytes.data(), tensor.data, Direction::kToMemory);
    std::memset(tensor.data + tensor.bytes(), 0,
                static_cast<std::size_t>(tensor.padding) * size_of(tensor.type));
}

}  // namespace

std::vector<FileTensor> weight_tensors(const StoreView& store) {
    std::vector<FileTensor> tensors;
    for (const Variable& variable : store.table->all()) {
        const Region region = is_statistic(variable.role) ? Region::kStatistics : Region::kMaster;
        tensors.push_back(file_tensor(variable, store.table->region(region).dtype, store.region(region), ""));
    }
    return tensors;
}

std::vector<FileTensor> region_tensors(const StoreView& store, Region region, const std::string& prefix) {
    std::vector<FileTensor> tensors;
    if (store.region(region) == nullptr) return tensors;
    for (const Variable& variable : store.table->all())
        if (!is_statistic(variable.role))
            tensors.push_back(
                file_tensor(variable, store.table->region(region).dtype, store.region(region), prefix));
    return tensors;
}

std::string first_nonfinite(const std::vector<FileTensor>& tensors) {
    for (const FileTensor& tensor : tensors) {
        const std::int64_t count = tensor.shape.num_elements();
        bool bad = false;
        if (tensor.type == FileType::F32) {  // most by far: an exponent of all ones
            const auto* words = reinterpret_cast<const std::uint32_t*>(tensor.data);
            for (std::int64_t i = 0; i < count; ++i) bad |= (words[i] & 0x7f800000u) == 0x7f800000u;
        } else if (is_floating(tensor.type)) {
            for (std::int64_t i = 0; i < count; ++i)
                bad |= !std::isfinite(value_at(tensor.type, tensor.data, i));
        }
        if (bad) return tensor.name;
    }
    return {};
}

std::string first_negative_variance(const std::vector<FileTensor>& tensors) {
    for (const FileTensor& tensor : tensors)
        if (tensor.name.ends_with(kVariance))
            for (std::int64_t i = 0; i < tensor.shape.num_elements(); ++i)
                if (value_at(tensor.type, tensor.data, i) < 0) return tensor.name;
    return {};
}

FileDigest write_tensors(const std::filesystem::path& path, const std::vector<FileTensor>& tensors,
                         std::optional<std::int64_t> num_batches_tracked) {
    const auto counter_name = [&](const FileTensor& tensor) -> std::string {
        if (!num_batches_tracked || !tensor.name.ends_with(kVariance)) return {};
        return tensor.name.substr(0, tensor.name.size() - kVariance.size() - 1) + std::string(kCounterSuffix);
    };
    SafetensorsWriter writer(path);
    for (const FileTensor& tensor : tensors) {
        writer.declare(tensor.name, tensor.type, tensor.shape);
        if (const std::string name = counter_name(tensor); !name.empty())
            writer.declare(name, FileType::I64, Shape{});
    }
    std::vector<std::byte> bytes;
    for (const FileTensor& tensor : tensors) {
        bytes.resize(static_cast<std::size_t>(tensor.bytes()));
        permute(tensor, tensor.data, bytes.data(), Direction::kToFile);
        writer.write(bytes);
        if (!counter_name(tensor).empty()) writer.write(std::as_bytes(std::span(&*num_batches_tracked, 1)));
    }
    return writer.finish();
}

std::vector<Mismatch> compare_tensors(const SafetensorsFile& file, const std::vector<FileTensor>& tensors,
                                      Conversion conversion) {
    std::vector<Mismatch> mismatches;
    std::set<const TensorEntry*> known;
    for (const FileTensor& tensor : tensors) {
        const TensorEntry* entry = entry_of(file, tensor);
        known.insert(entry);
        std::string fault = fault_of(entry, tensor, conversion);
        if (!fault.empty()) mismatches.push_back({tensor.name, std::move(fault)});
    }
    for (const TensorEntry& entry : file.tensors())
        if (!known.contains(&entry) && !is_beside_weights(entry.name))
            mismatches.push_back({entry.name, "the file has " + describe(entry.type, entry.shape) +
                                                  ", the model has no such tensor"});
    return mismatches;
}

void read_tensors(const SafetensorsFile& file, const std::vector<FileTensor>& tensors,
                  Conversion conversion) {
    const std::vector<Mismatch> mismatches = compare_tensors(file, tensors, conversion);
    if (!mismatches.empty()) {
        const std::size_t count = mismatches.size();
        throw Error(ExitCode::kCheckpoint,
                    file.path().string() + ": does not fit the model: " + mismatches.front().tensor + ": " +
                        mismatches.front().fault + " (" + std::to_string(count) +
                        (count == 1 ? " tensor does" : " tensors do") + " not fit)");
    }
    for (const FileTensor& tensor : tensors) load(file, *entry_of(file, tensor), tensor);
}

std::vector<Mismatch> read_fitting_tensors(const SafetensorsFile& file,
                                           const std::vector<FileTensor>& tensors) {
    std::vector<Mismatch> mismatches = compare_tensors(file, tensors, Conversion::kAny);
    for (const FileTensor& tensor : tensors) {
        const TensorEntry* entry = entry_of(file, tensor);
        if (fault_of(entry, tensor, Conversion::kAny).empty()) load(file, *entry, tensor);
    }
    return mismatches;
}

}  // namespace mpt
