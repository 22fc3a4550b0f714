// Backward fused convolution: both gradients in one pass over the items, sharing the scratches.
#include <xmmintrin.h>

#include <algorithm>
#include <string>

#include "backends/cpu/conv_backward_data.h"
#include "backends/cpu/conv_backward_weight.h"
#include "backends/cpu/conv_engine.h"
#include "backends/cpu/conv_winograd.h"
#include "backends/cpu/threads.h"
#include "core/error.h"

namespace mpt::cpu {

struct ConvBackward::Impl {
    Impl(const ConvBackwardSpec& given, int threads);
    void run(const ConvBackwardArgs& args) const;
    void run_items(const ConvBackwardArgs& args, int thread) const;
    float* floats(const ConvBackwardArgs& args, std::size_t at) const {
        return reinterpret_cast<float*>(static_cast<char*>(args.workspace) + at);
    }
    float* thread_floats(const ConvBackwardArgs& args, int thread, std::size_t at) const {
        return floats(args, shared_bytes + static_cast<std::size_t>(thread) * thread_bytes + at);
    }
    double* sums(const ConvBackwardArgs& args, int thread) const {
        return reinterpret_cast<double*>(thread_floats(args, thread, sums_at));
    }
    Index partial_floats() const {
        return (use_winograd ? winograd_weight.weights() : weight.weights()).floats();
    }
    Index num_sums() const {
        return spec.reductions ? (1 + spec.num_references) * spec.shape.in_channels : 0;
    }

    ConvBackwardSpec spec;
    int num_threads;
    bool use_winograd;
    ItemSplit split;
    InputScratch input;
    GradientScratch gradient;
    DataGradient data;
    WeightGradient weight;
    WinogradWeightGradient winograd_weight;
    std::size_t products_at = 0, packed_at = 0, partials_at = 0, dy_at = 0, x_at = 0, row_buffer_at = 0,
                tile_at = 0, sums_at = 0;
    std::size_t shared_bytes = 0, thread_bytes = 0;
};

ConvBackward::Impl::Impl(const ConvBackwardSpec& given, int threads) : spec(given), num_threads(threads) {
    spec.shape = without_rows(spec.shape);
    const ConvShape& s = spec.shape;
    const InputView view = InputView::of(s);
    Index bytes = (s.out_height() + s.kernel_h - 1) * (s.out_width() + s.kernel_w - 1) *
                  round_up(s.out_channels, kCacheLineFloats) * 4;
    if (spec.need_weight)
        bytes += view.rows(s.out_height()) * view.width * round_up(view.channels, kCacheLineFloats) * 4;
    use_winograd = winograd_chosen(spec.winograd, s);
    split = ItemSplit::of(s.batch, std::min(s.height, s.out_height()), use_winograd ? 2 : 1, bytes,
                          use_winograd
                              ? winograd_scratch_bytes(s)
                              : scratch_bytes_for(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels),
                          threads);
    gradient = GradientScratch(s, split, spec.need_data);
    WorkspaceLayout shared, own;
    if (spec.need_data) {
        data = DataGradient(spec, gradient, split, use_winograd);
        packed_at = shared.take_floats(data.weights().floats());
        tile_at = own.take_floats(data.tile_floats());
        sums_at = own.take(static_cast<std::size_t>(num_sums()) * sizeof(double));
    }
    if (spec.need_weight) {
        input = InputScratch(s, split);
        if (use_winograd) {
            winograd_weight = WinogradWeightGradient(s, split);
            products_at = own.take_floats(winograd_weight.scratch_floats());
        } else {
            weight = WeightGradient(s, input, gradient);
        }
        partials_at = shared.take_floats(threads * partial_floats());
        x_at = own.take_floats(input.floats());
        row_buffer_at = own.take_floats(input.row_buffer_floats());
    }
    dy_at = own.take_floats(gradient.floats());
    shared_bytes = shared.bytes();
    thread_bytes = own.bytes();
}

void ConvBackward::Impl::run_items(const ConvBackwardArgs& args, int thread) const {
    float* dy = thread_floats(args, thread, dy_at);
    float* x = thread_floats(args, thread, x_at);
    float* partial = floats(args, partials_at) + thread * partial_floats();
    const GradientSource dy_source{args.g, args.y, spec.g, spec.y, spec.grad_affine ? args.a : nullptr,
                                   args.b, args.c};
    const InputSource x_source{args.x, spec.x, spec.input_affine ? args.scale : nullptr, args.shift,
                               spec.input_relu};
    const Range items = share_of(split.count(), thread, num_threads);
    if (items.begin == items.end && spec.need_weight) std::fill_n(partial, partial_floats(), 0.0f);
    for (Index i = items.begin; i < items.end; ++i) {
        const Item item = split.item(i);
        gradient.fill(item, dy_source, dy);
        if (spec.need_weight) {
            input.fill(item, x_source, x, thread_floats(args, thread, row_buffer_at));
            const Accumulate start = i == items.begin ? Accumulate::kOverwrite : Accumulate::kAdd;
            if (use_winograd)
                winograd_weight.run(item, input, x, gradient, dy, thread_floats(args, thread, products_at),
                                    partial, start);
            else
                weight.run(item, input, x, gradient, dy, partial, start);
        }
        if (spec.need_data)
            data.run(args, item, gradient, dy, floats(args, packed_at), thread_floats(args, thread, tile_at),
                     sums(args, thread));
    }
    if (spec.need_data && data.streams()) _mm_sfence();
}

void ConvBackward::Impl::run(const ConvBackwardArgs& args) const {
    run_threads(num_threads, [&](int thread) {
        if (spec.need_data) {
            const auto pack = use_winograd ? pack_winograd_backward : pack_backward_weights;
            pack(data.weights(), args.w, spec.weight, floats(args, packed_at), thread, num_threads);
            std::fill_n(sums(args, thread), num_sums(), 0.0);
            barrier();
        }
        run_items(args, thread);
        if (!spec.need_weight && num_sums() == 0) return;
        barrier();
        if (spec.need_data) {
            const Range mine = share_of(num_sums(), thread, num_threads);
            for (Index i = mine.begin; i < mine.end; ++i) {
                double total = 0;
                for (int t = 0; t < num_threads; ++t) total += sums(args, t)[i];
                args.reductions[i] = static_cast<float>(total);
            }
        }
        if (!spec.need_weight) return;
        if (use_winograd)
            winograd_weight.add(args.dw, floats(args, partials_at), num_threads, thread, num_threads);
        else
            add_weight_gradients(weight.weights(), args.dw, floats(args, partials_at), partial_floats(),
                                 num_threads, thread, num_threads);
    });
}

std::string ConvBackward::refusal(const ConvBackwardSpec& spec) {
    for (const std::string& why :
         {shape_refusal(spec.shape), storage_refusal(spec.x, "x"), storage_refusal(spec.y, "y"),
          storage_refusal(spec.g, "g"), storage_refusal(spec.dx, "dx"),
          storage_refusal(spec.addend, "the addend"), storage_refusal(spec.reference, "references"),
          storage_refusal(spec.weight, "weights")})
        if (!why.empty()) return why;
    if (!spec.need_data && !spec.need_weight) return "needs a gradient to compute";
    if (spec.reductions && !spec.need_data) return "makes reductions only of a data gradient";
    if (spec.num_references < 0 || spec.num_references > 2) return "takes at most two references";
    return "";
}

ConvBackward::ConvBackward(const ConvBackwardSpec& spec, int num_threads) {
    const std::string why = refusal(spec);
    MPT_CHECK(why.empty(), why);
    MPT_CHECK(num_threads >= 1);
    impl_ = std::make_unique<Impl>(spec, num_threads);
}
ConvBackward::~ConvBackward() = default;
std::size_t ConvBackward::workspace_bytes() const {
    return impl_->shared_bytes + static_cast<std::size_t>(impl_->num_threads) * impl_->thread_bytes;
}
void ConvBackward::run(const ConvBackwardArgs& args) const {
    impl_->run(args);
}
std::string ConvBackward::description() const {
    return engine_description(impl_->use_winograd);
}

}  // namespace mpt::cpu
