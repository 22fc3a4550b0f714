#include <catch2/catch.hpp>

#include "optim/segments.h"

namespace mpt {

namespace {

void conv_norm(VariableTable& table, const std::string& name, std::int64_t out, std::int64_t in,
               std::int64_t k) {
    table.get_or_add(name + ".conv.weight", {out, k, k, in}, Role::kConvWeight, {});
    table.get_or_add(name + ".norm.weight", {out}, Role::kNormGain, {});
    table.get_or_add(name + ".norm.bias", {out}, Role::kNormBias, {});
    table.get_or_add(name + ".norm.running_mean", {out}, Role::kRunningMean, {});
    table.get_or_add(name + ".norm.running_var", {out}, Role::kRunningVariance, {});
}

// He et al. 2015: stem, bottleneck blocks 3-4-6-3 with a projection in the first of each stage, classifier.
VariableTable resnet50() {
    VariableTable table;
    conv_norm(table, "stem", 64, 3, 7);
    std::int64_t in = 64;
    const int blocks[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage) {
        const std::int64_t width = std::int64_t{64} << stage;
        for (int block = 0; block < blocks[stage]; ++block) {
            const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
            conv_norm(table, name + ".1", width, in, 1);
            conv_norm(table, name + ".2", width, width, 3);
            conv_norm(table, name + ".3", 4 * width, width, 1);
            if (block == 0) conv_norm(table, name + ".projection", 4 * width, in, 1);
            in = 4 * width;
        }
    }
    table.get_or_add("classifier.weight", {1000, 2048}, Role::kMatrix, {});
    table.get_or_add("classifier.bias", {1000}, Role::kBias, {});
    return table;
}

}  // namespace

// H11
TEST_CASE("ResNet-50 has 161 tensors: 54 decayed, 107 exempt") {
    const VariableTable table = resnet50();
    CHECK(table.num_parameters() == 25557032);  // torchvision's count
    const DecayGroups groups = decay_groups(table, {});
    CHECK(groups.segments.size() == 161);
    CHECK(groups.num_decayed == 54);
    CHECK(groups.num_exempt == 107);
    CHECK(groups.summary ==
          "weight decay: 161 tensors, 54 decayed (25502912 values), 107 exempt (54120 values), by "
          "exclude_from_decay: [norm, bias]");
    for (const Segment& segment : groups.segments.all()) {
        CHECK(segment.offset % kVariableAlignment == 0);
        CHECK(segment.offset + segment.elements <= table.parameter_elements());
    }
}

TEST_CASE("the rule follows the kinds that are excluded") {
    const VariableTable table = resnet50();
    CHECK(decay_groups(table, {false, true}).num_exempt == 1);
    CHECK(decay_groups(table, {true, false}).num_exempt == 106);
    const DecayGroups all = decay_groups(table, {false, false});
    CHECK(all.num_exempt == 0);
    CHECK(all.summary.find("exclude_from_decay: []") != std::string::npos);
    CHECK(decay_groups(table, {true, false}).summary.find("[norm]") != std::string::npos);
}

TEST_CASE("segment tables compare by content") {
    CHECK(SegmentTable({{0, 5, true}}) == SegmentTable({{0, 5, true}}));
    CHECK_FALSE(SegmentTable({{0, 5, true}}) == SegmentTable({{0, 5, false}}));
}

}  // namespace mpt
