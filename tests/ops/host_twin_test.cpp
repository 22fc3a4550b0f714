// What the host twin promises: planted faults of kernels are found, work is ordered, a recording replays with
// new data, memory is guarded.
#include "backends/cuda/host_twin/host_twin.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "backends/cuda/rows.h"
#include "core/error.h"

using namespace mpt;
using Catch::Contains;

namespace {

constexpr int kThreads = 64;

// out[t] = in[t of the next thread], by way of shared memory; `fault` plants one.
enum class Fault { kNone, kNoBarrier, kDivergent, kOutOfBounds, kUninitialised, kTwoWriters, kLostWarp };

MPT_KERNEL(kThreads)
void rotate_kernel(Fault fault, const float* in, float* out) {
    MPT_SHARED(float, tile, kThreads);
    const int t = gpu::thread_index();
    const bool skips = fault == Fault::kUninitialised && t == 7;
    if (!skips) tile.put(static_cast<std::size_t>(fault == Fault::kOutOfBounds ? t + 1 : t), in[t]);
    if (fault == Fault::kTwoWriters && t < 2) tile.put(5, 1.0f);
    if (fault == Fault::kDivergent) {
        if (t < 32)
            gpu::sync_block();
        else
            gpu::sync_block();
    } else if (fault == Fault::kLostWarp) {
        if (t % 2 == 0)
            gpu::sync_block();
        else
            gpu::sum_lanes(1.0f);
    } else if (fault != Fault::kNoBarrier) {
        gpu::sync_block();
    }
    out[t] = tile.get(static_cast<std::size_t>((t + 1) % kThreads));
}

void rotate(gpu::HostTwin& twin, Fault fault, const float* in, float* out) {
    gpu::launch(twin, {.threads = kThreads}, rotate_kernel, fault, in, out);
}

}  // namespace

TEST_CASE("the twin runs a kernel with a barrier as a GPU does, in either order of threads") {
    for (const bool last_first : {false, true}) {
        gpu::HostTwin twin(last_first);
        std::vector<float> in(kThreads), out(kThreads);
        for (int t = 0; t < kThreads; ++t) in[static_cast<std::size_t>(t)] = static_cast<float>(t);
        rotate(twin, Fault::kNone, in.data(), out.data());
        for (int t = 0; t < kThreads; ++t)
            CHECK(out[static_cast<std::size_t>(t)] == static_cast<float>((t + 1) % kThreads));
    }
}

TEST_CASE("planted faults of kernels are found and named") {
    const std::vector<float> in(kThreads, 1.0f);
    std::vector<float> out(kThreads);
    const auto what = [&](Fault fault) {
        gpu::HostTwin twin;
        std::string text;
        try {
            rotate(twin, fault, in.data(), out.data());
        } catch (const InternalError& error) {
            text = error.what();
        }
        // The twin goes on after a fault.
        rotate(twin, Fault::kNone, in.data(), out.data());
        return text;
    };
    CHECK(what(Fault::kNone).empty());
    CHECK_THAT(what(Fault::kNoBarrier), Contains("uninitialised") || Contains("race"));
    CHECK_THAT(what(Fault::kDivergent), Contains("divergent barrier") && Contains("host_twin_test.cpp"));
    CHECK_THAT(what(Fault::kOutOfBounds), Contains("out of bounds") && Contains("element 64 of 64"));
    CHECK_THAT(what(Fault::kUninitialised), Contains("element 7") && Contains("uninitialised"));
    CHECK_THAT(what(Fault::kTwoWriters), Contains("race in shared memory") && Contains("element 5"));
    CHECK_THAT(what(Fault::kLostWarp), Contains("divergent"));
}

namespace {

MPT_KERNEL(kThreads)
void race_kernel(float* out) {
    MPT_SHARED(float, sums, kThreads);
    const int t = gpu::thread_index();
    sums.put(static_cast<std::size_t>(t), 1.0f);
    gpu::sync_block();
    // The second half reads what the first half writes in the same step of the tree: a barrier is missing.
    for (int step = kThreads / 2; step > 0; step /= 2)
        if (t < step)
            sums.put(static_cast<std::size_t>(t),
                     sums.get(static_cast<std::size_t>(t)) + sums.get(static_cast<std::size_t>(t + step)));
    if (t == 0) *out = sums.get(0);
}

MPT_KERNEL(kThreads)
void vector_kernel(const float* in, float* out) {
    float values[4];
    gpu::load<4>(in, values);
    if (gpu::thread_index() == 0) *out = values[3];
}

MPT_KERNEL(kThreads)
void two_memories_kernel(float* out) {
    MPT_SHARED(float, fixed, kThreads);
    MPT_DYNAMIC_SHARED(float, dynamic, kThreads);
    const auto t = static_cast<std::size_t>(gpu::thread_index());
    fixed.put(t, 1.0f);
    dynamic.put(t, 1.0f);
    gpu::sync_block();
    if (t == 0) *out = fixed.get(0) + dynamic.get(0);
}

MPT_KERNEL(kThreads)
void flat_barrier_kernel() {
    gpu::sync_block();
}

MPT_KERNEL(kThreads)
void last_writer_kernel(float* out) {
    if (gpu::thread_index() == 0) *out = static_cast<float>(gpu::block_index());
}

}  // namespace

TEST_CASE("a reduction tree without barriers is a race, whatever its result") {
    gpu::HostTwin twin;
    float out = 0;
    CHECK_THROWS_WITH(gpu::launch(twin, {.threads = kThreads}, race_kernel, &out),
                      Contains("race in shared memory"));
}

TEST_CASE("a launch beyond what a GPU takes is refused as one would") {
    gpu::HostTwin twin;
    float out = 0;
    const auto launch = [&](const gpu::Launch& shape) { gpu::launch(twin, shape, last_writer_kernel, &out); };
    CHECK_THROWS_WITH(launch({.blocks = 0, .threads = kThreads}), Contains("a launch of 0 x 1 blocks"));
    CHECK_THROWS_WITH(launch({.blocks = std::int64_t{1} << 31, .threads = kThreads}),
                      Contains("2147483648 x 1"));
    CHECK_THROWS_WITH(launch({.threads = kThreads, .blocks_y = 65536}), Contains("1 x 65536"));
    CHECK_THROWS_WITH(launch({.threads = 1025}), Contains("1025 threads"));
    const auto most = static_cast<std::size_t>(twin.info().shared_bytes_per_block);
    CHECK_THROWS_WITH(launch({.threads = kThreads, .shared_bytes = most + 1}),
                      Contains("shared memory a block"));
    launch({.threads = kThreads, .blocks_y = 65535, .shared_bytes = most, .threads_meet = false});
    // The kernel's own static memory counts, too.
    gpu::launch(twin, {.threads = kThreads, .shared_bytes = most - kThreads * sizeof(float)},
                two_memories_kernel, &out);
    CHECK(out == 2);
    CHECK_THROWS_WITH(
        gpu::launch(twin, {.threads = kThreads, .shared_bytes = most}, two_memories_kernel, &out),
        Contains("shared memory of"));
}

TEST_CASE("a vector access of a misaligned address is found") {
    gpu::HostTwin twin;
    alignas(16) const float in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    float out = 0;
    gpu::launch(twin, {.threads = kThreads}, vector_kernel, in + 4, &out);
    CHECK(out == 7);
    CHECK_THROWS_WITH(gpu::launch(twin, {.threads = kThreads}, vector_kernel, in + 1, &out),
                      Contains("misaligned") && Contains("16 bytes"));
}

TEST_CASE("what CUDA forbids in a capture is refused, and the twin goes on") {
    gpu::HostTwin twin;
    gpu::Memory memory(twin, 16);
    const std::unique_ptr<gpu::Event> event = twin.make_event();
    event->record();
    const auto captured = [&](const std::function<void()>& work) {
        return [&, work] { twin.capture(work); };
    };
    const auto fill = [&] { twin.fill_zero(memory.data(), 16); };
    CHECK_THROWS_WITH(captured([&] { twin.allocate(16); })(), Contains("an allocation inside a capture"));
    CHECK_THROWS_WITH(captured([&] { twin.synchronize(); })(),
                      Contains("a synchronisation inside a capture"));
    CHECK_THROWS_WITH(captured([&] { event->wait(); })(), Contains("waiting for an event inside a capture"));
    CHECK_THROWS_WITH(captured([&] { event->order_after(); })(), Contains("inside a capture"));
    CHECK_THROWS_WITH(captured([&] { twin.beside(fill); })(), Contains("second stream inside a capture"));
    CHECK(twin.capture(fill)->num_nodes() == 1);
    twin.beside(fill);
    twin.synchronize();
}

TEST_CASE("a barrier in a kernel launched as one whose threads never meet is told") {
    gpu::HostTwin twin;
    CHECK_THROWS_WITH(gpu::launch(twin, {.threads = kThreads, .threads_meet = false}, flat_barrier_kernel),
                      Contains("never meet"));
}

TEST_CASE("what depends on the order of blocks has other bits when the order is turned round") {
    float first = -1, last = -1;
    gpu::HostTwin forward, backward(true);
    gpu::launch(forward, {.blocks = 3, .threads = kThreads}, last_writer_kernel, &first);
    gpu::launch(backward, {.blocks = 3, .threads = kThreads}, last_writer_kernel, &last);
    CHECK(first == 2);
    CHECK(last == 0);
}

TEST_CASE("a recording replays kernels and copies with the data of the moment") {
    gpu::HostTwin twin;
    std::vector<float> host(kThreads, 3.0f), result(kThreads, -1.0f);
    const gpu::Memory in(twin, kThreads * sizeof(float)), out(twin, kThreads * sizeof(float));
    const std::unique_ptr<gpu::Recording> recording = twin.capture([&] {
        twin.copy(in.data(), host.data(), in.bytes());
        rotate(twin, Fault::kNone, reinterpret_cast<const float*>(in.data()),
               reinterpret_cast<float*>(out.data()));
        twin.copy(result.data(), out.data(), out.bytes());
    });
    CHECK(recording->num_nodes() == 3);
    CHECK(result[0] == -1);  // nothing ran yet
    recording->replay();
    CHECK(result == std::vector<float>(kThreads, 3.0f));
    host.assign(kThreads, 8.0f);
    recording->replay();
    CHECK(result == std::vector<float>(kThreads, 8.0f));
}

TEST_CASE("a write outside an allocation is found at the next synchronisation") {
    gpu::HostTwin twin;
    const gpu::Memory memory(twin, 100);
    memory.data()[99] = std::byte{1};
    twin.synchronize();
    const std::byte before = memory.data()[100];
    memory.data()[100] = std::byte{1};
    CHECK_THROWS_WITH(twin.synchronize(), Contains("outside an allocation of 100 bytes"));
    memory.data()[100] = before;
}

TEST_CASE("more memory than there is ends with the exit code of resources") {
    gpu::HostTwin twin;
    try {
        const gpu::Memory memory(twin, std::size_t{1} << 40);
        FAIL("allocated");
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kResource);
    }
}

TEST_CASE("late streams run apart: what no event orders shows as other bits, one way or the other") {
    std::vector<float> seen;
    for (const gpu::TwinOrder order : {gpu::TwinOrder::kFirstStreamAhead, gpu::TwinOrder::kSecondStreamAhead})
        for (const bool ordered : {false, true}) {
            gpu::HostTwin twin(false, order);
            const gpu::Memory memory(twin, sizeof(float));
            const float before = 1, after = 2;
            float result = 0;
            twin.copy(memory.data(), &before, sizeof before);
            twin.synchronize();
            const std::unique_ptr<gpu::Event> written = twin.make_event();
            twin.beside([&] {
                twin.copy(memory.data(), &after, sizeof after);
                written->record();
            });
            if (ordered) written->order_after();
            twin.copy(&result, memory.data(), sizeof result);
            CHECK(result == 0);  // nothing ran yet
            twin.synchronize();
            seen.push_back(result);
        }
    CHECK(seen == std::vector<float>{1, 2, 2, 2});
}

TEST_CASE("the host waits for an event, and for nothing behind it") {
    gpu::HostTwin twin(false, gpu::TwinOrder::kFirstStreamAhead);
    const float one = 1;
    float first = 0, second = 0;
    const std::unique_ptr<gpu::Event> passed = twin.make_event();
    passed->wait();  // never recorded: there is nothing to wait for
    twin.copy(&first, &one, sizeof one);
    passed->record();
    twin.copy(&second, &one, sizeof one);
    passed->wait();
    CHECK(first == 1);
    CHECK(second == 0);
    twin.synchronize();
    CHECK(second == 1);
}

TEST_CASE("a fault of a late kernel is told when the host waits") {
    gpu::HostTwin twin(false, gpu::TwinOrder::kFirstStreamAhead);
    float out = 0;
    gpu::launch(twin, {.threads = kThreads}, race_kernel, &out);
    CHECK_THROWS_WITH(twin.synchronize(), Contains("race in shared memory"));
}
