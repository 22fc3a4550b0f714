#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "dataset/pictures/picture_store.h"
#include "dataset/pictures/shard_index.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

// Where a split's shards lie, and their names.
struct ShardFolder {
    std::string folder, split;
    std::vector<std::string> files;    // sorted
    std::vector<std::string> partial;  // what an unfinished `pack` leaves
    bool any() const { return !files.empty() || !partial.empty(); }
    std::string index_path() const { return folder + "/" + split + ".index"; }
};

// Lists what a folder holds of a split. A folder that is not there holds nothing; one that cannot be read is
// told.
void list_shards(const fs::path& folder, const std::string& prefix, ShardFolder& found) {
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return;
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix) && name.ends_with(".tar")) found.files.push_back(name);
        if (name.ends_with(".partial") && (name.starts_with(prefix) || name.starts_with(found.split + ".")))
            found.partial.push_back(name);
    }
    if (error) fail_system(folder.string() + ": cannot be read", error.value());
    std::sort(found.files.begin(), found.files.end());
    std::sort(found.partial.begin(), found.partial.end());
}

ShardFolder find_shards(const SourceOptions& options) {
    const fs::path path = fs::absolute(options.path).lexically_normal();
    const std::vector<std::string> names = options.split == Split::kTrain
                                               ? std::vector<std::string>{"train"}
                                               : std::vector<std::string>{"val", "test", "validation"};
    for (const std::string& name : names) {
        ShardFolder found{path.string(), name, {}, {}};
        list_shards(path, name + "-", found);
        if (found.any()) return found;
        found.folder = (path / name).string();
        list_shards(path / name, "", found);
        if (found.any()) return found;
    }
    return {};
}

// How many shards a split may keep open: both splits, the workers and all else share the process's handles.
std::size_t most_open() {
    constexpr std::size_t kMost = 256;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMost;
    return std::min<std::size_t>(kMost, static_cast<std::size_t>(limit.rlim_cur) / 4);
}

class Shards final : public PictureStore {
  public:
    Shards(std::string folder, ShardIndex index) : folder_(std::move(folder)), index_(std::move(index)) {
        for (std::size_t s = 0; s < std::min(index_.shards.size(), most_open()); ++s) {
            try {
                open_.emplace_back(path_of(s));
            } catch (const Error&) {
                break;  // told when it is read
            }
        }
    }

    std::int64_t size() const override { return static_cast<std::int64_t>(index_.pictures.size()); }
    std::int32_t label(std::int64_t index) const override { return picture(index).label; }
    std::string name(std::int64_t index) const override {
        return path_of(shard_of(index)) + ": picture at byte " + std::to_string(picture(index).offset);
    }
    std::string key(std::int64_t index) const override {
        const ShardPicture& at = picture(index);
        return index_.shards[shard_of(index)].file + " " + std::to_string(at.offset) + " " +
               std::to_string(at.size) + " ";
    }
    std::span<const std::uint8_t> read(std::int64_t index, ByteBuffer& buffer) const override {
        const ShardPicture& at = picture(index);
        const std::size_t shard = shard_of(index);
        if (shard < open_.size()) return open_[shard].read(at.offset, at.size, buffer);
        return OpenFile(path_of(shard)).read(at.offset, at.size, buffer);
    }
    std::int64_t memory_bytes() const override {
        return static_cast<std::int64_t>(index_.pictures.capacity() * sizeof(ShardPicture));
    }
    const std::vector<std::string>& class_names() const override { return index_.class_names; }
    std::vector<std::string> checksum_faults(const AskStop& stop) const override {
        std::vector<std::string> faults;
        for (const ShardFile& shard : index_.shards)
            if (index_.has_checksums && checksum_of_file(folder_ + "/" + shard.file, stop) != shard.checksum)
                faults.push_back(folder_ + "/" + shard.file +
                                 ": its checksum is not the index's; copy it again");
        return faults;
    }

  private:
    const ShardPicture& picture(std::int64_t index) const {
        MPT_CHECK(index >= 0 && index < size());
        return index_.pictures[static_cast<std::size_t>(index)];
    }
    std::size_t shard_of(std::int64_t index) const {
        const auto after = std::upper_bound(
            index_.shards.begin(), index_.shards.end(), index,
            [](std::int64_t at, const ShardFile& shard) { return at < std::int64_t{shard.first}; });
        return static_cast<std::size_t>(after - index_.shards.begin()) - 1;
    }
    std::string path_of(std::size_t shard) const { return folder_ + "/" + index_.shards[shard].file; }

    std::string folder_;
    ShardIndex index_;
    std::vector<OpenFile> open_;  // the first ones
};

// A shard that is missing or of another size is told at once; its checksum is compared by `data --check`.
void check_files(const std::string& folder, const ShardIndex& index) {
    for (const ShardFile& shard : index.shards) {
        const std::string path = folder + "/" + shard.file;
        std::error_code error;
        const std::uintmax_t size = fs::file_size(path, error);
        if (error) throw Error(ExitCode::kData, path + ": " + error.message() + "; the index names it");
        if (size != shard.bytes)
            throw Error(ExitCode::kData, path + ": has " + std::to_string(size) + " bytes, the index says " +
                                             std::to_string(shard.bytes) + "; copy it again");
    }
}

// What is not in the index would be ignored: a set that two packings were mixed in, or an index of old.
void check_all_named(const ShardFolder& found, const ShardIndex& index) {
    for (const std::string& file : found.files)
        if (std::ranges::find(index.shards, file, &ShardFile::file) == index.shards.end())
            throw Error(ExitCode::kData, found.folder + "/" + file + ": " + found.index_path() +
                                             " does not name it; remove the one or the other");
}

void refuse_unfinished(const ShardFolder& found) {
    if (found.partial.empty()) return;
    throw Error(ExitCode::kData,
                found.folder + "/" + found.partial.front() +
                    ": these shards are incomplete, their packing did not end; pack them anew "
                    "into an empty folder");
}

// Labels count in `wanted`; the shards may have been packed from other class folders.
void map_classes(const std::string& folder, const std::vector<std::string>& wanted,
                 const SourceOptions& options, ShardIndex& index) {
    if (wanted.empty() || wanted == index.class_names) return;
    std::vector<std::int32_t> place;
    for (const std::string& name : index.class_names) {
        const auto found = std::find(wanted.begin(), wanted.end(), name);
        place.push_back(found == wanted.end() ? -1 : static_cast<std::int32_t>(found - wanted.begin()));
    }
    for (ShardPicture& picture : index.pictures) {
        const std::int32_t label = place[static_cast<std::size_t>(picture.label)];
        if (label < 0)
            refuse_unknown_class(
                folder + ": class " + index.class_names[static_cast<std::size_t>(picture.label)], wanted,
                options);
        picture.label = label;
    }
    index.class_names = wanted;
}

// classes.txt is for other readers: the index has the names, too.
void check_list(const ShardFolder& found, const std::vector<std::string>& names) {
    const std::string file = (fs::path(found.folder) / "classes.txt").string();
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return;
    const std::vector<std::string> listed = read_class_names(file);
    if (listed == names) return;
    const auto [a, b] = std::ranges::mismatch(listed, names);
    const auto named = [](auto at, auto end) { return at == end ? std::string("none") : *at; };
    throw Error(ExitCode::kData, file + ": class " + std::to_string(a - listed.begin()) + " is " +
                                     named(a, listed.end()) + ", in " + found.index_path() + " it is " +
                                     named(b, names.end()) + "; put back the packed one, or remove it");
}

ShardIndex read_index(const ShardFolder& found, const SourceOptions& options,
                      std::vector<std::string>& notices) {
    refuse_unfinished(found);
    std::error_code ignored;
    if (fs::exists(found.index_path(), ignored)) {
        ShardIndex index = parse_shard_index(text_of_file(found.index_path()), found.index_path());
        check_files(found.folder, index);
        check_all_named(found, index);
        check_list(found, index.class_names);
        return index;
    }
    notices.push_back(found.index_path() + ": missing; the shards' own headers were read instead");
    return scan_shards(found.folder, found.files, options.num_classes, options.stop);
}

}  // namespace

std::string missing_shards(const SourceOptions& options) {
    if (find_shards(options).any()) return "";
    return options.split == Split::kTrain ? "no train-*.tar" : "no val-*.tar or test-*.tar";
}

OpenedStore open_shards(const SourceOptions& options) {
    const ShardFolder found = find_shards(options);
    MPT_CHECK(found.any());
    OpenedStore opened;
    opened.origin = fs::absolute(options.path).lexically_normal().string();
    ShardIndex index = read_index(found, options, opened.notices);
    std::vector<std::string> wanted = options.class_names;
    if (wanted.empty() && options.split == Split::kTest) {
        SourceOptions train = options;
        train.split = Split::kTrain;
        std::vector<std::string> ignored;
        const ShardFolder training = find_shards(train);
        if (training.any()) wanted = read_index(training, options, ignored).class_names;
    }
    check_trained_classes(found.folder, index.class_names, options);
    map_classes(found.folder, wanted, options, index);
    check_class_count(opened.origin, index.class_names, options);
    if (index.pictures.empty()) throw Error(ExitCode::kData, found.folder + ": has 0 pictures");
    if (index.pictures.size() > 0x7fffffff)
        throw Error(ExitCode::kData, found.folder + ": has more than 2147483647 pictures");
    opened.store = std::make_unique<Shards>(found.folder, std::move(index));
    return opened;
}

}  // namespace mpt
