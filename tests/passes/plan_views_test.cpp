// Reshapes in a plan: no memory of their own, and nothing overwrites what is still read through one.
#include <catch2/catch.hpp>

#include "graph/builder.h"
#include "ops/add/add.h"
#include "ops/relu/relu.h"
#include "ops/reshape/reshape.h"
#include "plan/plan.h"

using namespace mpt;

namespace {

std::int64_t offset(const Plan& plan, ValueId id) {
    return plan.placements[static_cast<std::size_t>(id)].offset;
}

}  // namespace

TEST_CASE("a reshape shares its input's memory, also where the input is read afterwards") {
    Graph graph;
    GraphBuilder b(graph);
    const ValueId x = b.input("x", {{6, 8}, DType::f32});
    const ValueId y = relu(b, x);
    const ValueId seen = reshape(b, y, {3, 16});
    const ValueId z = relu(b, seen, "z");  // must not overwrite y, which the sum reads
    const ValueId sum = add(b, reshape(b, z, {6, 8}, "back"), y);
    b.output("sum", sum);
    const Plan plan = compile(graph, {.kernels = &cpu_kernels()});
    CHECK(offset(plan, seen) == offset(plan, y));
    CHECK(offset(plan, z) != offset(plan, y));
    CHECK(offset(plan, sum) == offset(plan, z));  // the last reader may
    const auto bytes = [](std::int64_t elements) { return (4 * elements + 255) / 256 * 256; };
    CHECK(plan.arena_bytes == 3 * bytes(48));
    CHECK(plan.activations_bytes == 2 * 4 * 48);
}

TEST_CASE("a reshape of a graph's input or of a stored value is that value's memory and is not overwritten") {
    Graph graph;
    VariableTable variables;
    GraphBuilder b(graph, &variables);
    const ValueId x = b.input("x", {{6, 8}, DType::f32});
    const ValueId w = b.parameter("w", {48}, Role::kMatrix, {});
    const ValueId seen_x = reshape(b, x, {48}), seen_w = reshape(b, w, {6, 8}, "seen_w");
    const ValueId from_x = relu(b, seen_x, "from_x"), from_w = relu(b, seen_w, "from_w");
    b.output("x", from_x);
    b.output("w", from_w);
    const Plan plan = compile(graph, {.kernels = &cpu_kernels()});
    CHECK(offset(plan, seen_x) == offset(plan, x));
    CHECK(offset(plan, from_x) != offset(plan, x));
    const Placement& placed = plan.placements[static_cast<std::size_t>(seen_w)];
    CHECK((placed.stored && placed.store == StoreRef{Region::kMaster, 0}));
    CHECK(!plan.placements[static_cast<std::size_t>(from_w)].stored);
}
