// The configs that are shipped, and their README.
#include <catch2/catch.hpp>
#include <sstream>

#include "config/key.h"
#include "config/suggest.h"
#include "support/config_text.h"

using namespace mpt;

namespace {

namespace fs = std::filesystem;

// Tests start somewhere below the source tree, in a build folder as a rule.
fs::path source_tree() {
    for (fs::path folder = fs::current_path(); folder != folder.root_path(); folder = folder.parent_path())
        if (fs::exists(folder / "configs/README.md")) return folder;
    FAIL("no configs/README.md above " << fs::current_path() << ": start the tests inside the source tree");
    return {};
}

std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

RunConfig shipped(const std::string& name) {
    return read_config((source_tree() / "configs" / (name + ".yaml")).string()).config;
}

}  // namespace

TEST_CASE("configs/README.md is what the code says") {
    const bool same = text_of(source_tree() / "configs/README.md") == keys_markdown();
    INFO("write it anew: mpt-train keys --markdown > configs/README.md");
    CHECK(same);
}

TEST_CASE("every shipped config reads without a warning and survives its echo") {
    std::size_t num_configs = 0;
    for (const auto& entry : fs::directory_iterator(source_tree() / "configs")) {
        if (entry.path().extension() != ".yaml") continue;
        INFO(entry.path());
        ++num_configs;
        const ReadConfig read = read_config(entry.path().string());
        CHECK(read.warnings.empty());
        CHECK(read.config.name == entry.path().stem().string());
        CHECK(text_of(entry.path()).starts_with("# "));
        CHECK(read_config_text(read.resolved, "echo.yaml", "/").config == read.config);
    }
    CHECK(num_configs >= 15);
}

TEST_CASE("the shipped configs are the ones they are named after") {
    struct Gpt {
        const char* name;
        std::int64_t depth, width, heads;
    };
    for (const Gpt& gpt : {Gpt{"gpt2_124m_amp", 12, 768, 12}, Gpt{"gpt2_350m_amp", 24, 1024, 16},
                           Gpt{"gpt2_774m_amp", 36, 1280, 20}, Gpt{"gpt2_1558m_amp", 48, 1600, 25}}) {
        const RunConfig config = shipped(gpt.name);
        INFO(gpt.name);
        CHECK(config.model.depth == gpt.depth);
        CHECK(config.model.width == gpt.width);
        CHECK(config.model.heads == gpt.heads);
        CHECK(config.model.vocabulary_size == 50257);
        CHECK(config.checkpoint.best == BestMetric::kLoss);
    }
    CHECK(shipped("transformer_base_amp").model.width == 512);
    CHECK(shipped("transformer_big_amp").model.width == 1024);
    CHECK(shipped("de_en_transformer_amp").checkpoint.best == BestMetric::kBleu);
    const RunConfig amp = shipped("fashion_mnist_resnet20_amp");
    CHECK(amp.model.depth == 20);
    CHECK(amp.precision.mode == PrecisionMode::kAmpFp16);
    CHECK(amp.data.path == "/usr/share/datasets/fashion-mnist");
    // The three precisions differ in nothing else, so that they can be compared.
    for (const char* name : {"fashion_mnist_resnet20_fp32", "fashion_mnist_resnet20_bf16"}) {
        RunConfig other = shipped(name);
        CHECK(other.precision.mode != amp.precision.mode);
        other.precision.mode = amp.precision.mode;
        other.name = amp.name;
        other.output_dir = amp.output_dir;
        CHECK(other == amp);
    }
    const RunConfig resnet50 = shipped("resnet50_amp");
    CHECK(resnet50.train.batch_size == 256);
    CHECK(resnet50.data.image_size == 224);
    CHECK(resnet50.data.if_missing == IfMissing::kSynthetic);
    CHECK(shipped("resnet50_fp32").precision.mode == PrecisionMode::kFp32);
    CHECK(shipped("fashion_mnist_resnet18_amp").model.depth == 18);
    CHECK(shipped("cifar10_resnet20_amp").data.path ==
          (source_tree() / "data/cifar-10-batches-bin").string());
}

TEST_CASE("the table of keys is complete and in order") {
    std::vector<std::string> sections;
    std::vector<std::string> paths;
    for (const Key& key : all_keys()) {
        INFO(key.path);
        CHECK_FALSE(key.takes.empty());
        CHECK_FALSE(key.meaning.empty());
        CHECK_FALSE(key.meaning.ends_with('.'));
        CHECK_FALSE(default_of(key).empty());
        CHECK(std::find(paths.begin(), paths.end(), key.path) == paths.end());
        paths.push_back(key.path);
        const std::string section = section_of(key.path);
        if (sections.empty() || sections.back() != section) {
            CHECK(std::find(sections.begin(), sections.end(), section) == sections.end());
            sections.push_back(section);
        }
        if (key.switch_path.empty()) continue;
        const Key* by = find_key(key.switch_path);
        REQUIRE(by);
        for (const std::string& word : key.switch_words) CHECK(by->takes.find(word) != std::string::npos);
    }
    for (const Key& key : all_keys())
        CHECK(keys_text().find(key.path + "\n    " + key.meaning) != std::string::npos);
}

TEST_CASE("a default that is printed can be given") {
    for (const Key& key : all_keys()) {
        const std::string value = key.print(RunConfig{});
        if (value.empty() || !key.default_text.empty()) continue;
        INFO(key.path << "=" << value);
        CHECK(faults_of("seed: 1", {key.path + "=" + value}).empty());
    }
}

TEST_CASE("--config finds files and bare names") {
    TemporaryFolder folder;
    folder.write("configs/alpha.yaml", "seed: 1");
    folder.write("beta.yaml", "seed: 1");
    folder.write("alpha/x", "");
    const fs::path here = fs::current_path();
    fs::current_path(folder.path());
    const std::string by_name = find_config("alpha");
    const std::string by_file_name = find_config("alpha.yaml");
    const std::string local = find_config("beta");
    const std::string direct = find_config("configs/alpha.yaml");
    std::string missing, empty;
    try {
        find_config("alpa");
    } catch (const Error& error) {
        missing = error.what();
    }
    fs::current_path(here);
    CHECK(by_name == "configs/alpha.yaml");
    CHECK(by_file_name == "configs/alpha.yaml");
    CHECK(local == "beta.yaml");
    CHECK(direct == "configs/alpha.yaml");
    CHECK(
        missing ==
        "alpa: no such config; tried alpa, alpa.yaml, configs/alpa, configs/alpa.yaml; did you mean alpha?");
}
