#include "config/read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "config/key.h"
#include "config/key_kinds.h"
#include "config/rules.h"
#include "config/unknown_key.h"
#include "config/yaml_tree.h"
#include "core/error.h"
#include "core/printable.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostExplained = 100;  // more faults than are told

std::string working_directory() {
    std::error_code error;
    const fs::path path = fs::current_path(error);
    if (error) throw Error(ExitCode::kUsage, "the working directory is gone; change to one that exists");
    return path.string();
}

class Reader {
  public:
    Reader(std::vector<std::string> sources, std::string folder)
        : faults_(std::move(sources)), folder_(std::move(folder)) {}

    void read_file_text(std::string_view text) {
        const std::size_t before = faults_.size();
        const YamlItem root = parse_yaml(text, 0, faults_);
        if (faults_.size() > before) return;
        if (root.kind == YamlItem::Kind::kNull) {
            faults_.add({0, 1, 1}, "", "the file is empty; see the files in configs for a start");
        } else if (root.kind != YamlItem::Kind::kMap) {
            faults_.add(root.place, "",
                        std::string("the top level is ") +
                            (root.kind == YamlItem::Kind::kList ? "a list" : "a single value") +
                            "; it must be keys with values, like seed: 1 (mind the space)");
        } else {
            walk(root, "");
        }
    }

    // `text` is a.b=c. A value that begins with [ or { or a quote is YAML, any other is taken as it stands.
    void read_override(const std::string& text, int source) {
        folder_ = working_directory();
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
            faults_.add({source, 0, 0}, "", "is not key=value; write it like train.batch_size=64");
            return;
        }
        const std::size_t num_faults = faults_.size();
        check_text(text, source, faults_);
        if (faults_.size() > num_faults) return;
        const std::string path = text.substr(0, equals);
        const std::string value = text.substr(equals + 1);
        YamlItem item;
        item.place = {source, 1, 1};
        if (!value.empty() && std::string_view("[{\"'").find(value.front()) != std::string_view::npos) {
            const std::size_t before = faults_.size();
            item = parse_yaml(value, source, faults_);
            if (faults_.size() > before) return;
        } else if (!value.empty()) {
            item.kind = YamlItem::Kind::kScalar;
            item.text = value;
        }
        item.key = path;
        item.key_place = {source, 1, 1};
        const std::size_t dot = path.rfind('.');
        if (!is_section(section_of(path))) {
            const auto joined = explain_joined(path);
            faults_.add(item.key_place, path,
                        joined ? joined->what : explain_unknown("", last_part(path)).what);
            return;
        }
        if (dot != std::string::npos) item.key = path.substr(dot + 1);
        accept(item, section_of(path));
    }

    const GivenKeys& given() const { return given_; }
    Faults& faults() { return faults_; }
    RunConfig& config() { return config_; }

  private:
    void walk(const YamlItem& map, const std::string& section) {
        std::map<std::string, int> first_lines;
        for (const YamlItem& item : map.items) {
            const auto [first, is_new] = first_lines.emplace(item.key, item.key_place.line);
            if (is_new) {
                accept(item, section);
            } else {
                faults_.add(item.key_place, join(section, item.key),
                            "given twice, first on line " + std::to_string(first->second) + "; remove one");
            }
        }
    }

    void accept(const YamlItem& item, const std::string& section) {
        const std::string path = join(section, item.key);
        if (const Key* key = find_key(path); key && item.key.find('.') == std::string::npos) {
            const std::size_t before = faults_.size();
            key->set(*key, Setting{item, folder_, faults_}, config_);
            if (faults_.size() == before) {
                given_.places[path] = item.key_place;
            } else {
                given_.refused.insert(path);
            }
        } else if (!path.empty() && is_section(path) && item.key.find('.') == std::string::npos) {
            enter(item, path);
        } else if (item.key == "<<") {
            faults_.add(item.key_place, path, "merge keys are not supported; write the keys out");
        } else if (!explain_parts(item, path)) {
            const bool enough = faults_.size() > kMostExplained;
            const UnknownKey unknown =
                enough ? UnknownKey{"unknown key", ""} : explain_unknown(section, item.key);
            faults_.add(item.key_place, path, unknown.what);
            if (!unknown.section.empty() && item.kind == YamlItem::Kind::kMap) walk(item, unknown.section);
        }
    }

    // Of a section that does not exist; whether a part of it, joined to its name, is a key's.
    bool explain_parts(const YamlItem& item, const std::string& path) {
        if (item.kind != YamlItem::Kind::kMap || faults_.size() > kMostExplained) return false;
        bool any = false;
        for (const YamlItem& part : item.items)
            if (const auto unknown = explain_joined(join(path, part.key))) {
                faults_.add(part.key_place, join(path, part.key), unknown->what);
                any = true;
            }
        return any;
    }

    // An empty section is fine: all its keys may be commented out.
    void enter(const YamlItem& item, const std::string& path) {
        if (item.kind == YamlItem::Kind::kMap) {
            walk(item, path);
        } else if (item.kind != YamlItem::Kind::kNull || item.place.source > 0) {
            std::vector<std::string> names;
            for (const Key& key : all_keys())
                if (section_of(key.path) == path) names.push_back(last_part(key.path));
            faults_.add(item.place, path, "is a section, not a value; it holds " + joined(names));
        }
    }

    static std::string join(const std::string& section, const std::string& word) {
        return section.empty() ? word : section + "." + word;
    }

    Faults faults_;
    std::string folder_;
    GivenKeys given_;
    RunConfig config_;
};

// The file's name without its ending, if it can name a run.
std::string run_name_of(const std::string& source) {
    std::string name;
    if (!parse_run_name(fs::path(source).stem().string(), name).empty()) return "run";
    return name;
}

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why) {
    throw Error(ExitCode::kUsage, printable(path) + ": " + why);
}

struct FileText {
    std::string text;
    bool is_regular = false;
};

FileText read_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        const std::string reason = std::strerror(errno);
        fail_to_read(path,
                     "cannot be read: " + reason + "; --config takes a YAML file or a name in ./configs");
    }
    struct Closer {
        int descriptor;
        ~Closer() { ::close(descriptor); }
    } closer{file};
    struct stat info {};
    if (::fstat(file, &info) == 0 && S_ISDIR(info.st_mode))
        fail_to_read(path, "is a folder; --config takes a YAML file");
    FileText result;
    result.is_regular = S_ISREG(info.st_mode);
    char buffer[16384];
    while (true) {
        const ssize_t count = ::read(file, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_to_read(path, std::string("cannot be read: ") + std::strerror(errno));
        if (count == 0) return result;
        result.text.append(buffer, static_cast<std::size_t>(count));
        if (result.text.size() > kMostBytes) fail_to_read(path, "is larger than 1 MiB; that is no config");
    }
}

}  // namespace

namespace {

// Whoever names data on the command line means that data: what a file says of made-up data in its place is
// for the file's own.
void mean_named_data(const GivenKeys& given, RunConfig& config) {
    const auto overridden = [&](const char* path) {
        const auto found = given.places.find(path);
        return found != given.places.end() && found->second.source > 0;
    };
    const bool named = (overridden("data.path") && !config.data.path.empty()) ||
                       (overridden("data.source_path") && !config.data.source_path.empty());
    if (named && !overridden("data.if_missing")) config.data.if_missing = IfMissing::kError;
}

}  // namespace

ReadConfig read_config_text(std::string_view text, const std::string& source, const std::string& folder,
                            const std::vector<std::string>& overrides) {
    std::vector<std::string> sources = {source};
    for (const std::string& override_text : overrides)
        sources.push_back(
            "--set " + (override_text.size() > 200 ? override_text.substr(0, 200) + "..." : override_text));
    Reader reader(std::move(sources), folder);
    reader.read_file_text(text);
    for (std::size_t i = 0; i < overrides.size(); ++i)
        reader.read_override(overrides[i], static_cast<int>(i) + 1);
    RunConfig& config = reader.config();
    check_together(reader.given(), reader.faults(), config);
    reader.faults().throw_if_any();
    mean_named_data(reader.given(), config);
    if (config.name.empty()) config.name = run_name_of(source);
    if (config.output_dir.empty())
        config.output_dir = absolute_path(working_directory(), "runs/" + config.name);
    return {config, echo(config), reader.faults().warnings()};
}

ReadConfig read_config(const std::string& path, const std::vector<std::string>& overrides) {
    const FileText file = read_file(path);
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    // A pipe has no folder of its own worth the name.
    const std::string folder =
        file.is_regular && !error ? absolute.parent_path().string() : working_directory();
    return read_config_text(file.text, path, folder, overrides);
}

std::string find_config(const std::string& name) {
    if (name.empty())
        throw Error(ExitCode::kUsage, "--config is empty; it takes a YAML file or a name in ./configs");
    std::error_code error;
    const bool bare = name.find('/') == std::string::npos;
    std::vector<std::string> places = {name};
    if (!name.ends_with(".yaml")) places.push_back(name + ".yaml");
    for (std::size_t i = 0, count = bare ? places.size() : 0; i < count; ++i)
        places.push_back("configs/" + places[i]);
    for (const std::string& place : places)
        if (fs::exists(place, error) && !fs::is_directory(place, error)) return place;
    if (fs::is_directory(name, error)) return name;  // read_config says so
    std::vector<std::string> known;
    for (fs::directory_iterator file("configs", error), end; !error && file != end; file.increment(error))
        if (file->path().extension() == ".yaml") known.push_back(file->path().stem().string());
    const std::optional<std::string> close = nearest(fs::path(name).stem().string(), known);
    throw Error(ExitCode::kUsage, printable(name) + ": no such config; tried " + printable(joined(places)) +
                                      (close ? "; did you mean " + *close + "?" : ""));
}

}  // namespace mpt
