#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "core/error.h"
#include "dataset/pictures/picture_store.h"
#include "dataset/pictures/shard_index.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 16;  // of folders in a class: links that form a ring end here

enum class EntryKind { kFile, kFolder, kOther };

// What a name in a folder is, links followed. Asks the file system only where the folder does not tell.
EntryKind kind_of(const std::string& path, unsigned char type) {
    if (type == DT_REG) return EntryKind::kFile;
    if (type == DT_DIR) return EntryKind::kFolder;
    if (type != DT_LNK && type != DT_UNKNOWN) return EntryKind::kOther;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return EntryKind::kFile;  // a dangling link fails when it is read
    return S_ISDIR(status.st_mode) ? EntryKind::kFolder
                                   : (S_ISREG(status.st_mode) ? EntryKind::kFile : EntryKind::kOther);
}

// Calls visit(name, kind) for each entry but . and ..
template <class Visit>
void each_entry(const std::string& folder, const Visit& visit) {
    struct Close {
        void operator()(DIR* directory) const { closedir(directory); }
    };
    const std::unique_ptr<DIR, Close> directory(opendir(folder.c_str()));
    if (!directory) fail_system(folder + ": cannot be read", errno);
    while (const dirent* entry = readdir(directory.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        visit(name, kind_of(folder + "/" + name, entry->d_type));
    }
}

class ImageFolder final : public PictureStore {
  public:
    explicit ImageFolder(std::string root) : root_(std::move(root)) {}

    std::int64_t size() const override { return static_cast<std::int64_t>(entries_.size()); }
    std::int32_t label(std::int64_t index) const override { return entry(index).label; }
    std::string name(std::int64_t index) const override {
        const Entry& at = entry(index);
        return root_ + "/" + class_names_[static_cast<std::size_t>(at.label)] + "/" + name_of(at);
    }
    std::string key(std::int64_t index) const override {
        const Entry& at = entry(index);
        return class_names_[static_cast<std::size_t>(at.label)] + "/" + name_of(at) + "/";
    }
    std::span<const std::uint8_t> read(std::int64_t index, ByteBuffer& buffer) const override {
        return OpenFile(name(index)).read_whole(buffer);
    }
    std::int64_t memory_bytes() const override {
        return static_cast<std::int64_t>(names_.capacity() + entries_.capacity() * sizeof(Entry));
    }
    const std::vector<std::string>& class_names() const override { return class_names_; }

    void index(std::vector<std::string> class_names, std::vector<std::int64_t>& class_sizes);
    std::int64_t num_hidden() const { return num_hidden_; }
    std::int64_t num_special() const { return num_special_; }

  private:
    struct Entry {
        std::uint32_t name = 0;  // where it begins in names_
        std::int32_t label = 0;
    };
    const Entry& entry(std::int64_t index) const {
        MPT_CHECK(index >= 0 && index < size());
        return entries_[static_cast<std::size_t>(index)];
    }
    const char* name_of(const Entry& at) const { return names_.data() + at.name; }
    void add_folder(std::int32_t label, const std::string& inside, int depth);

    std::string root_;
    std::vector<std::string> class_names_;
    std::string names_;  // of all files, relative to their classes' folders, each ended by a zero
    std::vector<Entry> entries_;
    std::int64_t num_hidden_ = 0, num_special_ = 0;  // special: FIFOs, sockets, devices
};

void ImageFolder::add_folder(std::int32_t label, const std::string& inside, int depth) {
    const std::string folder = root_ + "/" + class_names_[static_cast<std::size_t>(label)] + "/" + inside;
    if (depth > kMaxDepth)
        throw Error(ExitCode::kData, folder + ": folders lie more than " + std::to_string(kMaxDepth) +
                                         " deep; is there a link to a folder above?");
    std::vector<std::string> folders;
    each_entry(folder, [&](const std::string& name, EntryKind kind) {
        if (name[0] == '.') {
            ++num_hidden_;
        } else if (kind == EntryKind::kFolder) {
            folders.push_back(name);
        } else if (kind == EntryKind::kFile) {
            if (names_.size() > std::numeric_limits<std::uint32_t>::max() - 65536)
                throw Error(ExitCode::kData, root_ + ": has more than 4 GiB of file names");
            entries_.push_back({static_cast<std::uint32_t>(names_.size()), label});
            names_ += inside + name;
            names_.push_back('\0');
        } else {
            ++num_special_;
        }
    });
    for (const std::string& name : folders) add_folder(label, inside + name + "/", depth + 1);
}

void ImageFolder::index(std::vector<std::string> class_names, std::vector<std::int64_t>& class_sizes) {
    class_names_ = std::move(class_names);
    class_sizes.clear();
    for (std::size_t c = 0; c < class_names_.size(); ++c) {
        const std::size_t before = entries_.size();
        std::error_code ignored;
        if (fs::is_directory(root_ + "/" + class_names_[c], ignored))
            add_folder(static_cast<std::int32_t>(c), "", 0);
        class_sizes.push_back(static_cast<std::int64_t>(entries_.size() - before));
    }
    names_.shrink_to_fit();
    entries_.shrink_to_fit();
    std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
        const int order = std::strcmp(name_of(a), name_of(b));
        return order != 0 ? order < 0 : a.label < b.label;
    });
}

struct Classes {
    std::vector<std::string> names;
    std::vector<std::string> hidden, stray;  // folders that are hidden, files that are in no class
};

Classes list_classes(const std::string& root) {
    Classes classes;
    each_entry(root, [&](const std::string& name, EntryKind kind) {
        if (kind == EntryKind::kFolder)
            (name[0] == '.' ? classes.hidden : classes.names).push_back(name);
        else
            classes.stray.push_back(name);
    });
    for (auto* list : {&classes.names, &classes.hidden, &classes.stray})
        std::sort(list->begin(), list->end());
    return classes;
}

std::string lower_case(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

void note_names(const std::string& root, const Classes& classes, std::vector<std::string>& notices) {
    for (const std::string& name : classes.hidden)
        notices.push_back(root + "/" + name + ": hidden folder, ignored");
    if (!classes.stray.empty())
        notices.push_back(root + ": " + std::to_string(classes.stray.size()) +
                          " files outside of class folders, ignored (" + classes.stray.front() + ", ...)");
    std::map<std::string, std::string> seen;
    for (const std::string& name : classes.names) {
        const auto [found, is_new] = seen.emplace(lower_case(name), name);
        if (!is_new)
            notices.push_back(root + ": the classes " + found->second + " and " + name +
                              " differ by case only; they stay two classes");
    }
}

std::string split_folder(const SourceOptions& options) {
    const fs::path path = fs::absolute(options.path).lexically_normal();
    const std::vector<std::string> names = options.split == Split::kTrain
                                               ? std::vector<std::string>{"train"}
                                               : std::vector<std::string>{"val", "test", "validation"};
    for (const std::string& name : names) {
        const std::string folder = (path / name).string();
        std::error_code error;
        const fs::file_status status = fs::status(folder, error);
        if (status.type() == fs::file_type::directory) return folder;
        // What cannot be looked at is not missing.
        if (error && status.type() != fs::file_type::not_found)
            throw Error(ExitCode::kData, folder + ": cannot be read: " + error.message());
    }
    return "";
}

// The class names that labels are counted in: those a checkpoint was trained with, or the training folders'.
std::vector<std::string> wanted_classes(const SourceOptions& options, const Classes& own) {
    if (!options.class_names.empty()) return options.class_names;
    if (options.split == Split::kTrain) return own.names;
    SourceOptions train = options;
    train.split = Split::kTrain;
    const std::string folder = split_folder(train);
    return folder.empty() ? own.names : list_classes(folder).names;
}

void check_sizes(const std::string& root, const SourceOptions& options, const std::vector<std::string>& names,
                 const std::vector<std::int64_t>& sizes, std::vector<std::string>& notices) {
    std::vector<std::string> empty;
    for (std::size_t c = 0; c < names.size(); ++c) {
        if (sizes[c] > 0) continue;
        empty.push_back(names[c]);
        if (options.split != Split::kTrain) continue;
        const std::string what = root + "/" + names[c] + ": the class has no pictures";
        if (options.empty_classes == EmptyClasses::kError)
            throw Error(ExitCode::kData, what + "; remove the folder, or set data.empty_classes: allow");
        notices.push_back(what);
    }
    if (!empty.empty() && options.split != Split::kTrain)  // an evaluation may be on some classes only
        notices.push_back(root + ": no pictures of " + std::to_string(empty.size()) + " of the " +
                          std::to_string(names.size()) + " classes: " + print_classes(empty));
}

// A classes.txt is not read here: the folders' names are the classes, in their order. One that is meant to
// say otherwise must not go unheard; other files of this name have lines of another kind.
void check_list(const std::string& path, const std::vector<std::string>& names,
                const SourceOptions& options) {
    const std::string file = (fs::absolute(path) / "classes.txt").lexically_normal().string();
    std::error_code ignored;
    if (options.split != Split::kTrain || !fs::is_regular_file(file, ignored)) return;
    const std::vector<std::string> listed = read_class_names(file);
    const bool is_meant = std::ranges::any_of(
        listed, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
    if (is_meant && listed != names)
        throw Error(ExitCode::kData, file +
                                         ": lists other classes, or another order, than the folders have (" +
                                         print_classes(names) + "), whose names count; mend or remove it");
}

}  // namespace

std::string print_classes(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
    if (names.size() > kMost) text += ", and " + std::to_string(names.size() - kMost) + " more";
    return text;
}

void check_class_count(const std::string& origin, const std::vector<std::string>& names,
                       const SourceOptions& options) {
    if (options.num_classes == 0 || static_cast<std::int64_t>(names.size()) == options.num_classes) return;
    const std::string count = std::to_string(names.size());
    const std::string whose = options.class_names_from.empty()
                                  ? origin + ": has "
                                  : options.class_names_from + ": was trained with ";
    throw Error(ExitCode::kData, whose + count + " classes (" + print_classes(names) +
                                     "), model.num_classes is " + std::to_string(options.num_classes) +
                                     "; set model.num_classes: " + count);
}

void check_trained_classes(const std::string& place, const std::vector<std::string>& now,
                           const SourceOptions& options) {
    if (options.split != Split::kTrain || options.class_names_from.empty()) return;
    const auto missing_in = [](const std::vector<std::string>& names, const std::vector<std::string>& from) {
        std::vector<std::string> missing;
        for (const std::string& name : from)
            if (std::ranges::find(names, name) == names.end()) missing.push_back(name);
        return missing;
    };
    const std::vector<std::string> gone = missing_in(now, options.class_names);
    const std::vector<std::string> came = missing_in(options.class_names, now);
    const bool may_be_gone = options.empty_classes == EmptyClasses::kAllow;
    if (came.empty() && (gone.empty() || may_be_gone)) return;
    std::string what;
    if (!gone.empty()) what = "gone since: " + print_classes(gone);
    if (!came.empty()) what += (what.empty() ? "new: " : "; new: ") + print_classes(came);
    throw Error(
        ExitCode::kCheckpoint,
        options.class_names_from + ": was trained with other classes than " + place + " has: " + what +
            "; make them the same" +
            (came.empty() ? ", set data.empty_classes: allow to go on without pictures of these," : "") +
            " or start with --init-from to train for those that are there");
}

void refuse_unknown_class(const std::string& place, const std::vector<std::string>& known,
                          const SourceOptions& options) {
    const std::string whose = options.class_names_from.empty()
                                  ? "the training data has no class of this name"
                                  : options.class_names_from + " was trained without a class of this name";
    throw Error(ExitCode::kData, place + ": " + whose + "; rename it to one of its classes (" +
                                     print_classes(known) + "), or leave it out");
}

std::string missing_image_folder(const SourceOptions& options) {
    if (!split_folder(options).empty()) return "";
    return options.split == Split::kTrain ? "no folder train" : "no folder val or test";
}

OpenedStore open_image_folder(const SourceOptions& options) {
    const std::string root = split_folder(options);
    MPT_CHECK(!root.empty());
    OpenedStore opened;
    opened.origin = fs::absolute(options.path).lexically_normal().string();
    const Classes own = list_classes(root);
    if (own.names.empty())
        throw Error(ExitCode::kData,
                    root + ": has no class folders; pictures are expected in " + root + "/<class>/");
    note_names(root, own, opened.notices);
    check_trained_classes(root, own.names, options);
    check_list(options.path, own.names, options);
    const std::vector<std::string> names = wanted_classes(options, own);
    for (const std::string& name : own.names)
        if (!std::binary_search(names.begin(), names.end(), name) &&
            std::find(names.begin(), names.end(), name) == names.end())
            refuse_unknown_class(root + "/" + name, names, options);
    auto folder = std::make_unique<ImageFolder>(root);
    std::vector<std::int64_t> sizes;
    folder->index(names, sizes);
    if (folder->size() == 0 && options.split != Split::kTrain)
        throw Error(ExitCode::kData, root + ": has 0 pictures");
    check_sizes(root, options, names, sizes, opened.notices);
    check_class_count(opened.origin, names, options);
    if (folder->num_hidden() > 0)
        opened.notices.push_back(root + ": " + std::to_string(folder->num_hidden()) +
                                 " hidden files in class folders, ignored");
    if (folder->num_special() > 0)
        opened.notices.push_back(root + ": " + std::to_string(folder->num_special()) +
                                 " FIFOs, sockets or devices in class folders, ignored");
    if (folder->size() == 0) throw Error(ExitCode::kData, root + ": has 0 pictures");
    opened.store = std::move(folder);
    return opened;
}

}  // namespace mpt
