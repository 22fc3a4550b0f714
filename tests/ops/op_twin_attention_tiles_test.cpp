// Attention's tiles on devices whose blocks have little shared memory, and what its kernels refuse, against
// the op's reference. 64 KiB is a T4, 96 a V100, 99 an RTX 3090 to 5090.
#include "ops/attention/attention.h"
#include "ops/attention/attention_tile_shape.h"
#include "support/op_twin.h"

using namespace mpt;
using Catch::Contains;

namespace {

constexpr std::int64_t kKiB = 1024;

Sample sample_of(const Shape& q, const Shape& k, bool backward) {
    const SampleInput absent{{}, 0, 0, SampleInput::Kind::kAbsent};
    Sample sample{to_string(q), backward ? &attention_backward_op : &attention_op, AttentionAttributes{}, {}};
    if (backward) sample.inputs = {{q}};
    for (const Shape& shape : {q, k, k}) sample.inputs.push_back({shape, -2, 2});
    if (backward) {
        sample.inputs.push_back({q});
        sample.inputs.push_back({{q[0], q[2], q[1]}, 2, 4, SampleInput::Kind::kWide});
    }
    sample.inputs.insert(sample.inputs.end(), {absent, absent});
    sample.reduction_length = std::max({q[1], k[1], q[3]});
    sample.tolerance_factor = 4;
    return sample;
}

const Kernel& kernel_of(const OpType& op, std::string_view name) {
    for (const Kernel& kernel : cuda_host_kernels().by_op.find(op.name)->second)
        if (kernel.name == name) return kernel;
    throw std::logic_error("no such kernel");
}

std::string refusal(const Sample& sample, std::string_view name, std::int64_t shared_bytes) {
    gpu::HostTwin twin(false, gpu::TwinOrder::kAtOnce, shared_bytes);
    const gpu::DeviceScope scope(&twin);
    return kernel_of(*sample.op, name).refusal(test::signature_of(sample, DType::f32, 1));
}

KernelTable only(std::string_view name) {
    KernelTable table;
    for (const auto& [op, kernels] : cuda_host_kernels().by_op)
        for (const Kernel& kernel : kernels)
            if (test::is_attention_op(op) && kernel.name == name) table.add(kernel);
    return table;
}

// Every sample whose heads tiles take, in each type, with no kernel but the tiles.
int check_tiles(std::int64_t shared_bytes, std::int64_t smallest_head) {
    gpu::HostTwin first_first(false, gpu::TwinOrder::kAtOnce, shared_bytes);
    gpu::HostTwin last_first(true, gpu::TwinOrder::kAtOnce, shared_bytes);
    const KernelTable tiles = only("tiles");
    int num_checked = 0;
    for (const Sample& sample : sample_table().samples) {
        if (!test::is_attention_op(sample.op->name) || tiles.by_op.count(sample.op->name) == 0) continue;
        const std::int64_t size = sample.inputs[0].shape[-1];  // of a head
        if (size % 16 != 0 || size < smallest_head) continue;
        INFO(sample.op->name << " " << sample.name);
        REQUIRE(refusal(sample, "tiles", shared_bytes).empty());
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
            test::check_case(sample, dtype, {"cuda-host", tiles, {&first_first, &last_first}, {1}});
        ++num_checked;
    }
    return num_checked;
}

}  // namespace

TEST_CASE("attention takes the largest tiles that a block's shared memory holds") {
    const auto tile = [](AttentionPass pass, std::int64_t size, std::int64_t bytes) {
        const AttentionTile* fitting = fitting_attention_tile(pass, size, bytes);
        return fitting == nullptr ? std::string("none")
                                  : std::to_string(fitting->queries) + "x" + std::to_string(fitting->keys);
    };
    struct Row {
        std::int64_t size;
        const char *forward[5], *backward[5];  // on devices of 48, 64, 96, 99 and 163 KiB
    };
    const Row rows[] = {
        {16, {"64x64", "64x64", "64x64", "64x64", "64x64"}, {"64x64", "64x64", "64x64", "64x64", "64x64"}},
        {32, {"64x64", "64x64", "64x64", "64x64", "64x64"}, {"none", "64x64", "64x64", "64x64", "64x64"}},
        {64, {"none", "64x64", "64x64", "64x64", "64x64"}, {"none", "64x32", "64x64", "64x64", "64x64"}},
        {128, {"none", "32x32", "32x32", "64x64", "64x64"}, {"none", "16x32", "32x32", "32x32", "64x64"}},
        {80, {"none", "none", "none", "none", "none"}, {"none", "none", "none", "none", "none"}}};
    constexpr std::int64_t kDevices[] = {48 * kKiB, 64 * kKiB, 96 * kKiB, 99 * kKiB, 163 * kKiB};
    for (const Row& row : rows)
        for (int device = 0; device < 5; ++device) {
            INFO("heads of " << row.size << ", " << kDevices[device] << " bytes");
            CHECK(tile(AttentionPass::kForward, row.size, kDevices[device]) == row.forward[device]);
            CHECK(tile(AttentionPass::kBackward, row.size, kDevices[device]) == row.backward[device]);
        }
}

TEST_CASE("attention's tiles agree with the reference on a twin with 64 KiB of shared memory a block") {
    CHECK(check_tiles(64 * kKiB, 64) > 0);  // smaller heads take the same tiles as on larger devices
}

TEST_CASE("attention's tiles agree with the reference on a twin with 96 KiB of shared memory a block") {
    CHECK(check_tiles(96 * kKiB, 128) > 0);  // so do those of 64 here
}

TEST_CASE("attention's tiles say what they would take where none fit") {
    const Shape q{1, 8, 1, 64};
    CHECK(refusal(sample_of(q, q, false), "tiles", 48 * kKiB) ==
          "its smallest tiles take 49408 bytes of shared memory, a block has 49152");
    CHECK(refusal(sample_of(q, q, true), "tiles", 48 * kKiB) ==
          "its smallest tiles take 58112 bytes of shared memory, a block has 49152");
    CHECK(refusal(sample_of({1, 8, 1, 80}, {1, 8, 1, 80}, false), "tiles", 64 * kKiB) ==
          "takes heads of 16, 32, 64 or 128");
}

// The scores and 32 bytes of the sums over a block: 48 KiB hold 12,280 scores.
TEST_CASE("attention row by row leaves room for its sums beside the scores") {
    const auto forward = [](std::int64_t keys) { return sample_of({1, 1, 1, 1}, {1, keys, 1, 1}, false); };
    const auto backward = [](std::int64_t queries) {
        return sample_of({1, queries, 1, 1}, {1, 1, 1, 1}, true);
    };
    CHECK(refusal(forward(12280), "rows", 48 * kKiB).empty());
    CHECK(refusal(forward(12281), "rows", 48 * kKiB) ==
          "the scores of a query take 49156 bytes of shared memory, a block has 49152");
    CHECK(refusal(backward(6140), "rows", 48 * kKiB).empty());
    CHECK_THAT(refusal(backward(6141), "rows", 48 * kKiB), Contains("49160 bytes of shared memory"));
    gpu::HostTwin twin(false, gpu::TwinOrder::kAtOnce, 48 * kKiB);
    test::check_case(forward(12280), DType::f32, {"cuda-host", only("rows"), {&twin}, {1}});
}

// A grid's second dimension ends at 65,535. Launches are only recorded, as so many blocks are slow on the
// twin, which refuses those that a GPU would.
TEST_CASE("attention launches for more than 65,535 heads in all") {
    gpu::HostTwin twin;
    const gpu::DeviceScope scope(&twin);
    const Shape q{2, 1, 35000, 16};
    for (const bool backward : {false, true}) {
        const Sample sample = sample_of(q, q, backward);
        const Signature s = test::signature_of(sample, DType::f32, 1);
        const std::vector<void*> inputs(s.inputs.size()), outputs(s.outputs.size());
        const auto launches = [&](std::string_view name) {
            const PreparedKernel kernel = kernel_of(*sample.op, name).prepare(s);
            return twin.capture([&] { kernel.run({inputs, outputs, nullptr}); })->num_nodes();
        };
        CHECK(launches("rows") == (backward ? 2 : 1));
        CHECK(launches("tiles") == (backward ? 3 : 1));
    }
}

TEST_CASE("attention refuses more blocks than a grid has") {
    const Shape q{std::int64_t{1} << 17, 1 << 10, 32, 16};
    CHECK(refusal(sample_of(q, q, false), "rows", 64 * kKiB) ==
          "takes 4294967296 blocks, a grid has 2147483647");
    CHECK(refusal(sample_of(q, q, false), "tiles", 64 * kKiB).empty());
}
