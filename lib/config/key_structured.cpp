// Keys whose value is more than a scalar of a common kind.
#include "config/key_kinds.h"

namespace mpt {
namespace {

std::string parse_element(const YamlItem& element, const RealRange& range, double& value) {
    if (element.kind != YamlItem::Kind::kScalar) return "is not a number";
    return parse_in(range, element.text, value);
}

// mean and std: one number, or a list of numbers.
void set_numbers(const Key& key, const Setting& setting, const YamlItem& item, const RealRange& range,
                 std::vector<double>& values) {
    const std::vector<YamlItem> alone = {item};
    const std::vector<YamlItem>& elements = item.kind == YamlItem::Kind::kList ? item.items : alone;
    values.clear();
    for (const YamlItem& element : elements) {
        double value = 0;
        const std::string what = parse_element(element, range, value);
        if (!what.empty()) {
            setting.faults.add(element.place, key.path + "." + item.key,
                               what + "; it takes " + describe(range) + ", or a list of one a channel");
            return;
        }
        values.push_back(value);
    }
}

// Of the children of a small map: refuses unknown and repeated ones; nullptr where one is missing.
std::vector<const YamlItem*> children_of(const Key& key, const Setting& setting, const YamlItem& map,
                                         const std::vector<std::string>& names) {
    std::vector<const YamlItem*> found(names.size(), nullptr);
    for (const YamlItem& child : map.items) {
        std::size_t index = 0;
        while (index < names.size() && names[index] != child.key) ++index;
        if (index == names.size()) {
            const std::optional<std::string> close = nearest(child.key, names);
            setting.faults.add(
                child.key_place, key.path + "." + child.key,
                "unknown key; " + (close ? "did you mean " + *close + "?" : "it takes " + joined(names)));
        } else if (found[index]) {
            setting.faults.add(child.key_place, key.path + "." + child.key,
                               "given twice, first on line " + std::to_string(found[index]->key_place.line) +
                                   "; remove one");
        } else {
            found[index] = &child;
        }
    }
    return found;
}

void set_normalize(const Key& key, const Setting& setting, NormalizeConfig& normalize) {
    const YamlItem& item = setting.item;
    if (item.kind == YamlItem::Kind::kScalar && (item.text == "auto" || item.text == "none")) {
        normalize = {};
        normalize.kind = item.text == "auto" ? NormalizeKind::kAuto : NormalizeKind::kOff;
        return;
    }
    if (item.kind != YamlItem::Kind::kMap) {
        refuse(key, setting, item.place,
               item.kind == YamlItem::Kind::kScalar ? quoted(item.text) + " is not known" : "is not a map");
        return;
    }
    const std::vector<const YamlItem*> children = children_of(key, setting, item, {"mean", "std"});
    if (!children[0] || !children[1]) {
        refuse(key, setting, item.place, children[0] ? "std is missing" : "mean is missing");
        return;
    }
    NormalizeConfig given;
    given.kind = NormalizeKind::kGiven;
    const std::size_t num_faults = setting.faults.size();
    set_numbers(key, setting, *children[0], {-1e6, 1e6}, given.mean);
    set_numbers(key, setting, *children[1], {.min = 0, .max = 1e6, .above_min = true}, given.std);
    if (setting.faults.size() > num_faults) return;
    if (given.mean.empty() || given.mean.size() != given.std.size()) {
        refuse(key, setting, item.place,
               "mean has " + std::to_string(given.mean.size()) + " numbers and std " +
                   std::to_string(given.std.size()));
        return;
    }
    normalize = std::move(given);
}

std::string print_normalize(const NormalizeConfig& normalize) {
    if (normalize.kind == NormalizeKind::kAuto) return "auto";
    if (normalize.kind == NormalizeKind::kOff) return "none";
    const auto print_numbers = [](const std::vector<double>& values) {
        std::vector<std::string> printed;
        for (const double value : values) printed.push_back(print_real(value));
        return print_list(printed);
    };
    return "{mean: " + print_numbers(normalize.mean) + ", std: " + print_numbers(normalize.std) + "}";
}

void add_override(const Key& key, const Setting& setting, const YamlItem& item,
                  std::vector<PrecisionOverride>& overrides) {
    if (item.kind != YamlItem::Kind::kMap) {
        refuse(key, setting, item.place, "an element is not a map");
        return;
    }
    const std::vector<const YamlItem*> children = children_of(key, setting, item, {"match", "dtype"});
    if (!children[0] || !children[1]) {
        refuse(key, setting, item.place, children[0] ? "dtype is missing" : "match is missing");
        return;
    }
    PrecisionOverride entry;
    if (children[0]->kind != YamlItem::Kind::kScalar || children[0]->text.empty()) {
        setting.faults.add(children[0]->place, key.path + ".match",
                           "is not a name; it takes a name pattern like layer4.*");
        return;
    }
    entry.match = children[0]->text;
    const std::string word = children[1]->kind == YamlItem::Kind::kScalar ? children[1]->text : "";
    const std::string what = parse_word(word, entry.dtype);
    if (!what.empty()) {
        setting.faults.add(children[1]->place, key.path + ".dtype",
                           what + "; it takes one of " + joined(all_words<DType>()));
        return;
    }
    overrides.push_back(std::move(entry));
}

}  // namespace

Key normalize_key() {
    Key key{"data.augment.normalize",
            "auto, none or {mean: [...], std: [...]}",
            "pixels in 0..1, minus mean, over std; auto takes the data set's own constants",
            {},
            {}};
    key.set = [](const Key& self, const Setting& setting, RunConfig& config) {
        set_normalize(self, setting, config.data.augment.normalize);
    };
    key.print = [](const RunConfig& config) { return print_normalize(config.data.augment.normalize); };
    return key;
}

Key overrides_key() {
    Key key{"precision.overrides",
            "a list of {match: NAME, dtype: f32, f16 or bf16}",
            "dtype of single places, by name pattern (* and ?); the last match wins",
            {},
            {}};
    key.set = [](const Key& self, const Setting& setting, RunConfig& config) {
        if (setting.item.kind != YamlItem::Kind::kList) {
            refuse(self, setting, setting.item.place, "is not a list");
            return;
        }
        config.precision.overrides.clear();
        for (const YamlItem& item : setting.item.items)
            add_override(self, setting, item, config.precision.overrides);
    };
    key.print = [](const RunConfig& config) {
        std::vector<std::string> printed;
        for (const PrecisionOverride& entry : config.precision.overrides)
            printed.push_back("{match: " + print_text(entry.match) +
                              ", dtype: " + std::string(word_of(entry.dtype)) + "}");
        return print_list(printed);
    };
    return key;
}

Key memory_limit_key() {
    Key key{"memory.limit",
            "bytes, with KiB, MiB, GiB or KB, MB, GB (at least 1 MiB), or auto",
            "most memory the plan may take; auto: what the machine has free",
            {},
            {}};
    key.set = [](const Key& self, const Setting& setting, RunConfig& config) {
        set_scalar(self, setting, [&](const std::string& text) -> std::string {
            if (text == "auto") {
                config.memory.limit_bytes.reset();
                return "";
            }
            std::int64_t bytes = 0;
            const std::string what = parse_bytes(text, bytes);
            if (what.empty()) config.memory.limit_bytes = bytes;
            return what;
        });
    };
    key.print = [](const RunConfig& config) {
        return config.memory.limit_bytes ? std::to_string(*config.memory.limit_bytes) : std::string("auto");
    };
    return key;
}

}  // namespace mpt
