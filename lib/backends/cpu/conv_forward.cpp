// Forward fused convolution: packed weights, then for each item scratch -> micro-kernels -> tile -> storage.
#include <xmmintrin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/conv_engine.h"
#include "backends/cpu/conv_scratch.h"
#include "backends/cpu/conv_weights.h"
#include "backends/cpu/conv_winograd.h"
#include "backends/cpu/conv_xsmm.h"
#include "backends/cpu/threads.h"
#include "core/error.h"

namespace mpt::cpu {
namespace {

// Pixels of one kernel call, and of one output tile: the tile's accumulator shares L1 with the weights,
// unless these are so many that a larger tile in L2 saves reading them again.
constexpr Index kCallPixels = 128, kTilePixels = 64, kLargeTilePixels = 256;
constexpr Index kSmallWeightBytes = 128 * 1024;

}  // namespace

struct ConvForward::Impl {
    Impl(const ConvForwardSpec& given, int threads);
    void run(const ConvForwardArgs& args) const;
    void run_item(const ConvForwardArgs& args, const Item& item, int thread) const;
    void run_direct(const ConvForwardArgs& args, const Item& item, int thread, OutputStore& store) const;
    void run_winograd(const ConvForwardArgs& args, const Item& item, int thread, OutputStore& store) const;
    void make_direct();
    // Stores rows of an output block, numbered through the images from row `row` of image `image` on.
    void store_rows(const ConvForwardArgs& args, int thread, Index block, Index image, Index row, Index rows,
                    OutputStore& store) const;
    void run_tile(const float* scratch, const float* packed, const Item& item, Index row, Index rows,
                  float* tile) const;
    bool streams() const {
        const ConvShape& s = spec.shape;
        const Index elements = s.batch * s.out_height() * s.out_width() * s.out_channels;
        return elements * static_cast<Index>(size_of(spec.y)) >= kStreamBytes;
    }
    float* floats(const ConvForwardArgs& args, std::size_t at) const {
        return reinterpret_cast<float*>(static_cast<char*>(args.workspace) + at);
    }
    float* thread_floats(const ConvForwardArgs& args, int thread, std::size_t at) const {
        return floats(args, shared_bytes + static_cast<std::size_t>(thread) * thread_bytes + at);
    }
    double* sums(const ConvForwardArgs& args, int thread) const {
        return reinterpret_cast<double*>(thread_floats(args, thread, sums_at));
    }

    ConvForwardSpec spec;
    int num_threads;
    ItemSplit split;
    bool use_winograd;
    InputScratch input;
    Blocking output;
    WinogradProduct product;
    WeightLayout weights;
    std::vector<Segment> segments;
    std::vector<BatchKernel> kernels;  // one a segment
    std::vector<BatchKernel::Offset> a_offsets, b_offsets;
    Index tile_rows = 1;
    std::size_t packed_at = 0, scratch_at = 0, row_buffer_at = 0, tile_at = 0, sums_at = 0;
    std::size_t shared_bytes = 0, thread_bytes = 0;
};

ConvForward::Impl::Impl(const ConvForwardSpec& given, int threads) : spec(given), num_threads(threads) {
    spec.shape = without_rows(spec.shape);
    const ConvShape& s = spec.shape;
    const InputView view = InputView::of(s);
    use_winograd = winograd_chosen(spec.winograd, s);
    const Index bytes =
        view.rows(s.out_height()) * view.width * round_up(view.channels, kCacheLineFloats) * 4;
    const Index limit = use_winograd ? winograd_scratch_bytes(s) : kScratchBytes;
    split = ItemSplit::of(s.batch, s.out_height(), use_winograd ? 2 : 1, bytes, limit, threads);
    input = InputScratch(s, split);
    output = Blocking::of(s.out_channels);
    WorkspaceLayout shared, own;
    if (use_winograd) {
        product = WinogradProduct(input.blocks(), output, s.out_height(), s.out_width(), split);
        weights = product.weights();
        tile_at = own.take_floats(product.scratch_floats());
    } else {
        weights = {output, input.blocks(), view.taps_h * view.taps_w};
        make_direct();
        tile_at = own.take_floats(tile_rows * s.out_width() * output.size);
    }
    packed_at = shared.take_floats(weights.floats());
    scratch_at = own.take_floats(input.floats());
    row_buffer_at = own.take_floats(input.row_buffer_floats());
    sums_at = own.take(static_cast<std::size_t>(2 * s.out_channels) * sizeof(double));
    shared_bytes = shared.bytes();
    thread_bytes = own.bytes();
}

void ConvForward::Impl::make_direct() {
    const InputView& view = input.view();
    const Index k = input.blocks().count == 1 ? input.blocks().channels : input.blocks().size;
    segments = segments_of(spec.shape.out_width(), kCallPixels);
    for (const Segment& segment : segments)
        kernels.emplace_back(KernelShape{output.size, segment.pixels, k, output.size,
                                         view.stride_w * input.blocks().size, output.size, false, false});
    for (Index block = 0; block < input.blocks().count; ++block) {
        for (Index tap = 0; tap < weights.taps; ++tap) {
            const Index row = tap / view.taps_w, column = tap % view.taps_w;
            const Index b =
                block * input.block_floats() + row * input.row_floats() + column * input.blocks().size;
            a_offsets.push_back(static_cast<BatchKernel::Offset>(weights.tile(0, block, tap) * 4));
            b_offsets.push_back(static_cast<BatchKernel::Offset>(b * 4));
        }
    }
    const bool few_weights = weights.block_floats() * 4 <= kSmallWeightBytes;
    tile_rows = std::max<Index>(1, (few_weights ? kTilePixels : kLargeTilePixels) / spec.shape.out_width());
}

void ConvForward::Impl::run_tile(const float* scratch, const float* packed, const Item& item, Index row,
                                 Index rows, float* tile) const {
    const Index height = item.row_end(spec.shape.out_height()) - item.row_begin(spec.shape.out_height());
    const Index first = item.row_begin(spec.shape.out_height());
    for (Index i = 0; i < rows; ++i) {
        const float* line = scratch + input.row_offset(item, (row + i) / height, first + (row + i) % height);
        float* target = tile + i * spec.shape.out_width() * output.size;
        for (std::size_t j = 0; j < segments.size(); ++j) {
            const Index b = segments[j].begin * input.view().stride_w * input.blocks().size;
            kernels[j](packed, line + b, target + segments[j].begin * output.size, a_offsets.size(),
                       a_offsets.data(), b_offsets.data());
        }
    }
}

void ConvForward::Impl::store_rows(const ConvForwardArgs& args, int thread, Index block, Index image,
                                   Index row, Index rows, OutputStore& store) const {
    const ConvShape& s = spec.shape;
    store.channels = output.valid(block);
    store.pixels = rows * s.out_width();
    if (spec.statistics) {
        store.sum = sums(args, thread) + block * output.size;
        store.square_sum = store.sum + s.out_channels;
    }
    const Index at = (image * s.out_height() + row) * s.out_width() * s.out_channels + block * output.size;
    store.y = static_cast<char*>(args.y) + at * static_cast<Index>(size_of(spec.y));
    conv_passes().store_output(store);
}

// Rows of all images of the item are numbered through: they are contiguous in y, since only whole images are
// grouped.
void ConvForward::Impl::run_direct(const ConvForwardArgs& args, const Item& item, int thread,
                                   OutputStore& store) const {
    const float* scratch = thread_floats(args, thread, scratch_at);
    float* tile = thread_floats(args, thread, tile_at);
    const Index first = item.row_begin(spec.shape.out_height());
    const Index rows = item.images() * (item.row_end(spec.shape.out_height()) - first);
    store.tile = tile;
    for (Index block = 0; block < output.count; ++block) {
        const float* packed = floats(args, packed_at) + weights.tile(block, 0, 0);
        for (Index row = 0; row < rows; row += tile_rows) {
            const Index count = std::min(tile_rows, rows - row);
            run_tile(scratch, packed, item, row, count, tile);
            store_rows(args, thread, block, item.image_begin, first + row, count, store);
        }
    }
}

void ConvForward::Impl::run_winograd(const ConvForwardArgs& args, const Item& item, int thread,
                                     OutputStore& store) const {
    const float* scratch = thread_floats(args, thread, scratch_at);
    product.run(
        item, input.row_floats(), floats(args, packed_at), thread_floats(args, thread, tile_at),
        [&](Index image, Index row, Index block) {
            return scratch + block * input.block_floats() + input.row_offset(item, image, row);
        },
        [&](Index block, Index image, Index row, Index rows, const float* tile) {
            store.tile = tile;
            store_rows(args, thread, block, item.image_begin + image, row, rows, store);
        });
}

void ConvForward::Impl::run_item(const ConvForwardArgs& args, const Item& item, int thread) const {
    InputSource source{args.x, spec.x, spec.input_affine ? args.scale : nullptr, args.shift, spec.input_relu};
    input.fill(item, source, thread_floats(args, thread, scratch_at),
               thread_floats(args, thread, row_buffer_at));
    OutputStore store;
    store.block = output.size;
    store.type = spec.y;
    store.pixel = spec.shape.out_channels;
    store.stream = streams();
    if (use_winograd)
        run_winograd(args, item, thread, store);
    else
        run_direct(args, item, thread, store);
}

void ConvForward::Impl::run(const ConvForwardArgs& args) const {
    run_threads(num_threads, [&](int thread) {
        const auto pack = use_winograd ? pack_winograd_forward : pack_forward_weights;
        pack(weights, args.w, spec.weight, floats(args, packed_at), thread, num_threads);
        const Index channels = spec.shape.out_channels;
        std::fill_n(sums(args, thread), 2 * channels, 0.0);
        barrier();
        const Range items = share_of(split.count(), thread, num_threads);
        for (Index i = items.begin; i < items.end; ++i) run_item(args, split.item(i), thread);
        if (streams()) _mm_sfence();
        if (!spec.statistics) return;
        barrier();
        const Range mine = share_of(2 * channels, thread, num_threads);
        for (Index i = mine.begin; i < mine.end; ++i) {
            double total = 0;
            for (int t = 0; t < num_threads; ++t) total += sums(args, t)[i];
            args.statistics[i] = static_cast<float>(total);
        }
    });
}

std::string ConvForward::refusal(const ConvForwardSpec& spec) {
    for (const std::string& why : {shape_refusal(spec.shape), storage_refusal(spec.x, "x"),
                                   storage_refusal(spec.y, "y"), storage_refusal(spec.weight, "weights")})
        if (!why.empty()) return why;
    return "";
}

ConvForward::ConvForward(const ConvForwardSpec& spec, int num_threads) {
    const std::string why = refusal(spec);
    MPT_CHECK(why.empty(), why);
    MPT_CHECK(num_threads >= 1);
    impl_ = std::make_unique<Impl>(spec, num_threads);
}
ConvForward::~ConvForward() = default;
std::size_t ConvForward::workspace_bytes() const {
    return impl_->shared_bytes + static_cast<std::size_t>(impl_->num_threads) * impl_->thread_bytes;
}
void ConvForward::run(const ConvForwardArgs& args) const {
    impl_->run(args);
}
std::string ConvForward::description() const {
    return engine_description(impl_->use_winograd);
}

}  // namespace mpt::cpu
