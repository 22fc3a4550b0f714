#include "config/unknown_key.h"

#include <algorithm>
#include <set>
#include <vector>

#include "config/key.h"
#include "config/suggest.h"

namespace mpt {
namespace {

// A name somebody may have meant, and what it leads to.
struct Candidate {
    std::string word;     // a key's or section's last part, or a synonym
    std::string path;     // the key or section
    std::string section;  // where it stands
    bool is_section = false;
};

std::vector<Candidate> all_candidates() {
    std::vector<Candidate> candidates;
    std::set<std::string> sections;
    for (const Key& key : all_keys()) {
        const std::string section = section_of(key.path);
        for (std::string part = section; !part.empty(); part = section_of(part))
            if (sections.insert(part).second)
                candidates.push_back({last_part(part), part, section_of(part), true});
        candidates.push_back({last_part(key.path), key.path, section, false});
        for (const std::string& synonym : key.synonyms)
            candidates.push_back({synonym, key.path, section, false});
    }
    return candidates;
}

std::vector<Candidate> in_section(const std::vector<Candidate>& all, std::string_view section) {
    std::vector<Candidate> here;
    std::copy_if(all.begin(), all.end(), std::back_inserter(here),
                 [&](const Candidate& candidate) { return candidate.section == section; });
    return here;
}

std::vector<Candidate> same_word(const std::vector<Candidate>& from, std::string_view word) {
    std::vector<Candidate> same;
    std::copy_if(from.begin(), from.end(), std::back_inserter(same),
                 [&](const Candidate& candidate) { return normalized(candidate.word) == normalized(word); });
    return same;
}

std::optional<Candidate> nearest_candidate(const std::vector<Candidate>& from, std::string_view word) {
    std::vector<std::string> words;
    for (const Candidate& candidate : from) words.push_back(candidate.word);
    const std::optional<std::string> close = nearest(word, words);
    if (!close) return std::nullopt;
    return *std::find_if(from.begin(), from.end(),
                         [&](const Candidate& candidate) { return candidate.word == *close; });
}

UnknownKey did_you_mean(const Candidate& candidate) {
    return {"unknown key; did you mean " + std::string(candidate.is_section ? "the section " : "") +
                candidate.path + "?",
            candidate.is_section ? candidate.path : ""};
}

// Some keys have an option of their own.
std::string in_words(const std::string& path) {
    return path == "output_dir" ? path + ", or --output DIR" : path;
}

UnknownKey belongs_in(const std::vector<Candidate>& places) {
    std::vector<std::string> paths;
    for (const Candidate& candidate : places)
        if (std::find(paths.begin(), paths.end(), candidate.path) == paths.end())
            paths.push_back(candidate.path);
    const Candidate& first = places.front();
    const std::string where = first.section.empty() ? "at the top level" : "in section " + first.section;
    if (paths.size() == 1)
        return {"unknown key here; it belongs " + where + " (" + in_words(first.path) + ")", ""};
    return {"unknown key here; did you mean " + joined(paths, " or ") + "?", ""};
}

}  // namespace

UnknownKey explain_unknown(std::string_view section, std::string_view word) {
    const std::vector<Candidate> all = all_candidates();
    const std::vector<Candidate> here = in_section(all, section);
    const std::string dotted =
        section.empty() ? std::string(word) : std::string(section) + "." + std::string(word);
    if (word.find('.') != std::string_view::npos && find_key(dotted))
        return {"a dotted key is for --set; in a file nest it: " + last_part(dotted) + " under " +
                    section_of(dotted),
                ""};
    if (const auto same = same_word(here, word); !same.empty()) return did_you_mean(same.front());
    if (const auto same = same_word(all, word); !same.empty()) return belongs_in(same);
    if (const auto close = nearest_candidate(here, word)) return did_you_mean(*close);
    if (const auto close = nearest_candidate(all, word)) return did_you_mean(*close);
    std::vector<std::string> names;
    for (const Candidate& candidate : here)
        if (last_part(candidate.path) == candidate.word) names.push_back(candidate.word);
    const std::string where = section.empty() ? "the top level" : "section " + std::string(section);
    return {"unknown key; " + where + " has " + joined(names), ""};
}

std::optional<UnknownKey> explain_joined(std::string_view path) {
    std::string word(path);
    std::ranges::replace(word, '.', '_');
    const auto same = same_word(all_candidates(), word);
    if (same.empty()) return std::nullopt;
    return belongs_in(same);
}

}  // namespace mpt
