#include "ops/embedding/embedding.h"
#include "ops/reference.h"

namespace mpt {

namespace {

std::int64_t checked_id(const reference::Tensor& ids, std::int64_t token, std::int64_t rows) {
    const auto id = static_cast<std::int64_t>(ids(token));
    MPT_CHECK(id >= 0 && id < rows, "token id " + std::to_string(id) + " of " + std::to_string(rows));
    return id;
}

void run_embedding(const Signature& s, const KernelArgs& a) {
    const auto ids = reference::input(s, a, 0);
    const auto table = reference::input(s, a, 1);
    const auto y = reference::output(s, a, 0);
    const std::int64_t padding = s.attributes.as<EmbeddingAttributes>().padding_id;
    const std::int64_t width = table.dim(1);
    for (std::int64_t t = 0; t < ids.size(); ++t) {
        const std::int64_t row = checked_id(ids, t, table.dim(0));
        for (std::int64_t c = 0; c < width; ++c)
            y.set(t * width + c, row == padding ? 0.0 : table(row * width + c));
    }
}

// With `buffer` 1 input 0 is what the gradient is added to.
template <int buffer>
void run_embedding_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, buffer);
    const auto ids = reference::input(s, a, buffer + 1);
    const auto grad_table = reference::output(s, a, 0);
    const std::int64_t padding = s.attributes.as<EmbeddingBackwardAttributes>().padding_id;
    const std::int64_t width = grad_table.dim(1);
    std::vector<double> sums(static_cast<std::size_t>(grad_table.size()));
    if (buffer == 1) sums = reference::input(s, a, 0).values();
    for (std::int64_t t = 0; t < ids.size(); ++t) {
        const std::int64_t row = checked_id(ids, t, grad_table.dim(0));
        if (row == padding) continue;
        for (std::int64_t c = 0; c < width; ++c)
            sums[static_cast<std::size_t>(row * width + c)] += grad_y(t * width + c);
    }
    for (std::int64_t i = 0; i < grad_table.size(); ++i) grad_table.set(i, sums[static_cast<std::size_t>(i)]);
}

}  // namespace

void register_embedding_ref(KernelTable& table) {
    table.add(reference::kernel<run_embedding>(embedding_op));
    table.add(reference::kernel<run_embedding_backward<0>>(embedding_backward_op));
    table.add(reference::kernel<run_embedding_backward<1>>(embedding_backward_accumulate_op));
}

}  // namespace mpt
