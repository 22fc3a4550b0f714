#include "train/checkpoint.h"

#include <fmt/core.h>
#include <zlib.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/durable_file.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kEmaWeights = "ema.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kScaling = "scaling.safetensors";
constexpr const char* kState = "state.json";
constexpr const char* kConfig = "config.yaml";
constexpr const char* kManifest = "manifest.json";
constexpr int kFormat = 1;

std::vector<FileTensor> statistics_tensors(const StoreView& store) {
    std::vector<FileTensor> tensors = weight_tensors(store);
    std::erase_if(tensors, [&](const FileTensor& tensor) {
        const int index = store.table->find(tensor.name);
        return !is_statistic((*store.table)[index].role);
    });
    return tensors;
}

std::vector<FileTensor> ema_tensors(const StoreView& store) {
    std::vector<FileTensor> tensors = region_tensors(store, Region::kEma, "");
    if (tensors.empty()) return tensors;
    for (const FileTensor& tensor : statistics_tensors(store)) tensors.push_back(tensor);
    return tensors;
}

std::vector<FileTensor> moment_tensors(const StoreView& store) {
    std::vector<FileTensor> tensors = region_tensors(store, Region::kMoment1, "moment1.");
    for (const FileTensor& tensor : region_tensors(store, Region::kMoment2, "moment2."))
        tensors.push_back(tensor);
    return tensors;
}

// A run has them in fp8 only.
std::vector<FileTensor> scaling_tensors(const StoreView& store) {
    std::vector<FileTensor> tensors;
    if (store.region(Region::kScaling) == nullptr) return tensors;
    for (const ScalingState& state : store.table->scaling())
        tensors.push_back(
            {state.name, FileType::F32, Shape{state.elements},
             store.region(Region::kScaling) + state.offset * static_cast<std::int64_t>(sizeof(float))});
    return tensors;
}

FileDigest write_text(const fs::path& path, const std::string& text) {
    DurableFile file(path);
    file.write(text);
    file.finish();
    return {file.crc32(), file.bytes()};
}

struct Manifest {
    CheckpointHead head;
    std::map<std::string, FileDigest> files;
};

std::string hex(std::uint32_t crc) {
    return fmt::format("{:08x}", crc);
}

// Of everything else the manifest says, so that damage to itself is found, too.
std::string manifest_check(const Manifest& manifest) {
    std::string text =
        fmt::format("{} {} {}", manifest.head.run_id, manifest.head.sequence, manifest.head.step);
    for (const auto& [name, digest] : manifest.files)
        text += fmt::format(" {} {} {}", name, digest.bytes, hex(digest.crc32));
    return hex(static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()))));
}

std::string to_json(const Manifest& manifest) {
    Json json;
    json["format"] = kFormat;
    json["run_id"] = manifest.head.run_id;
    json["sequence"] = manifest.head.sequence;
    json["step"] = manifest.head.step;
    for (const auto& [name, digest] : manifest.files)
        json["files"][name] = {{"bytes", digest.bytes}, {"crc32", hex(digest.crc32)}};
    json["check"] = manifest_check(manifest);
    return json.dump(2) + "\n";
}

Manifest read_manifest(const fs::path& folder) {
    const fs::path path = folder / kManifest;
    if (!fs::exists(path))
        throw Error(ExitCode::kCheckpoint, folder.string() + ": not a checkpoint: it has no " + kManifest);
    const auto refuse = [&](const std::string& fault) {
        throw Error(ExitCode::kCheckpoint, path.string() + ": damaged: " + fault);
    };
    const std::string text = read_text_file(path);
    if (text.empty()) refuse("it is empty");
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) refuse("it is not a JSON object");
    Manifest manifest;
    manifest.head.path = folder;
    try {
        if (const Json& format = json.at("format"); format != kFormat)
            refuse("format " + format.dump() + " is not known here");
        manifest.head.run_id = json.at("run_id").get<std::string>();
        manifest.head.sequence = json.at("sequence").get<std::int64_t>();
        manifest.head.step = json.at("step").get<std::int64_t>();
        for (const auto& [name, file] : json.at("files").items())
            manifest.files[name] = {
                static_cast<std::uint32_t>(std::stoul(file.at("crc32").get<std::string>(), nullptr, 16)),
                file.at("bytes").get<std::int64_t>()};
        if (json.at("check").get<std::string>() != manifest_check(manifest))
            refuse("its own checksum does not fit");
    } catch (const Error&) {
        throw;
    } catch (const std::exception&) {  // JSON, but not ours
        refuse("it lacks what a manifest holds");
    }
    for (const char* name : {kWeights, kOptimizer, kState, kConfig})
        if (!manifest.files.contains(name)) refuse(std::string("it does not list ") + name);
    return manifest;
}

void check_file(const Manifest& manifest, const std::string& name) {
    const fs::path path = manifest.head.path / name;
    const FileDigest& expected = manifest.files.at(name);
    const FileDigest found = digest_file(path);
    if (found.bytes != expected.bytes)
        throw Error(ExitCode::kCheckpoint, fmt::format("{}: damaged: {} bytes instead of {}", path.string(),
                                                       found.bytes, expected.bytes));
    if (found.crc32 != expected.crc32)
        throw Error(ExitCode::kCheckpoint, fmt::format("{}: damaged: checksum {} instead of {}",
                                                       path.string(), hex(found.crc32), hex(expected.crc32)));
}

bool goes_with_weights(const std::string& name) {
    return name == kConfig || name.starts_with("tokenizer/") || name.starts_with("source_tokenizer/");
}

}  // namespace

std::string first_nonfinite(const StoreView& store) {
    for (const std::vector<FileTensor>& tensors :
         {weight_tensors(store), region_tensors(store, Region::kEma, "ema."), moment_tensors(store)})
        if (std::string name = first_nonfinite(tensors); !name.empty()) return name;
    return {};
}

void write_checkpoint(const fs::path& folder, const CheckpointHead& head, const TrainingState& state,
                      const StoreView& store, const std::string& config,
                      const std::vector<ExtraFile>& extras) {
    std::error_code error;
    if (!fs::create_directory(folder, error))
        throw Error(ExitCode::kResource, folder.string() + ": cannot create: " + error.message());
    Manifest manifest{head, {}};
    manifest.files[kWeights] = write_tensors(folder / kWeights, weight_tensors(store), state.micro_steps);
    const std::vector<FileTensor> ema = ema_tensors(store);
    if (!ema.empty())
        manifest.files[kEmaWeights] = write_tensors(folder / kEmaWeights, ema, state.micro_steps);
    manifest.files[kOptimizer] = write_tensors(folder / kOptimizer, moment_tensors(store));
    const std::vector<FileTensor> scaling = scaling_tensors(store);
    if (!scaling.empty()) manifest.files[kScaling] = write_tensors(folder / kScaling, scaling);
    manifest.files[kState] = write_text(folder / kState, to_json(state));
    manifest.files[kConfig] = write_text(folder / kConfig, config);
    for (const ExtraFile& extra : extras) {
        const fs::path path = folder / extra.name;
        fs::create_directories(path.parent_path(), error);
        manifest.files[extra.name] = write_text(path, extra.bytes);
        sync_directory(path.parent_path());
    }
    write_text(folder / kManifest, to_json(manifest));
    sync_directory(folder);
}

CheckpointHead read_head(const fs::path& folder) {
    return read_manifest(folder).head;
}

Checkpoint read_checkpoint(const fs::path& folder) {
    const Manifest manifest = read_manifest(folder);
    for (const auto& [name, digest] : manifest.files) check_file(manifest, name);
    return {manifest.head,
            training_state_from_json(read_text_file(folder / kState), (folder / kState).string()),
            read_text_file(folder / kConfig)};
}

void check_weights_file(const fs::path& file) {
    const fs::path folder = file.parent_path();
    if (!fs::exists(folder / kManifest)) return;
    const Manifest manifest = read_manifest(folder);
    if (!manifest.files.contains(file.filename().string())) return;
    for (const auto& [name, digest] : manifest.files)
        if (name == file.filename() || goes_with_weights(name)) check_file(manifest, name);
}

void read_regions(const Checkpoint& checkpoint, const StoreView& store) {
    const fs::path& folder = checkpoint.head.path;
    read_tensors(SafetensorsFile(folder / kWeights), weight_tensors(store), Conversion::kExact);
    read_tensors(SafetensorsFile(folder / kOptimizer), moment_tensors(store), Conversion::kExact);
    // Of a run in another precision, or with another history, there are none that fit: those start anew.
    if (const std::vector<FileTensor> scaling = scaling_tensors(store);
        !scaling.empty() && fs::exists(folder / kScaling))
        read_fitting_tensors(SafetensorsFile(folder / kScaling), scaling);
    const std::vector<FileTensor> ema = ema_tensors(store);
    if (ema.empty()) return;
    if (!fs::exists(folder / kEmaWeights))
        throw Error(
            ExitCode::kCheckpoint,
            folder.string() + ": has no moving average of the weights; set optimizer.ema to 0 to resume it");
    read_tensors(SafetensorsFile(folder / kEmaWeights), ema, Conversion::kExact);
}

}  // namespace mpt
