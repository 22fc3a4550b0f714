#include <algorithm>
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/reference.h"

namespace mpt {

namespace {

// One head of a call; rows of it in the tensors.
struct Head {
    const AttentionLayout& layout;
    AttentionExtent e;
    std::int64_t batch = 0, head = 0;

    // Element 0 of row `row` of place 0 (q), 1 (k) or 2 (v).
    std::int64_t at(std::size_t place, std::int64_t row) const {
        const AttentionLayout::Place& p = layout.places[place];
        return e.first_row(p, place == 0 ? e.queries : e.keys, batch, head) + row * e.row(p);
    }
    std::int64_t output(std::int64_t t) const { return ((batch * e.queries + t) * e.heads + head) * e.size; }
    std::int64_t statistic(std::int64_t t) const { return (batch * e.heads + head) * e.queries + t; }
    std::int64_t num_seen(std::int64_t t, const reference::Tensor& lengths) const {
        return e.num_seen(t, lengths ? static_cast<std::int64_t>(lengths(batch)) : e.keys);
    }
};

double dot(const reference::Tensor& a, std::int64_t at, const reference::Tensor& b, std::int64_t bt,
           std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += a(at + i) * b(bt + i);
    return sum;
}

// What dropout multiplies a probability by.
struct Dropout {
    const DropoutAttributes& attributes;
    DropoutNumbers numbers;

    Dropout(const Signature& s, const KernelArgs& a, int step)
        : attributes(s.attributes.as<AttentionAttributes>().dropout),
          numbers(attributes, s.has(step) ? *a.in<std::int32_t>(step) : 0) {}
    double factor(const Head& head, std::int64_t t, std::int64_t key) const {
        const std::int64_t row = head.e.first_number(head.batch * head.e.heads + head.head, t);
        if (attributes.probability == 0) return 1;
        return numbers.of_element(row + key) < dropout_threshold(attributes)
                   ? 0
                   : 1 / (1 - attributes.probability);
    }
};

template <typename Body>
void for_heads(const AttentionLayout& layout, const AttentionExtent& extent, const Body& body) {
    for (std::int64_t b = 0; b < extent.batch; ++b)
        for (std::int64_t h = 0; h < extent.heads; ++h) body(Head{layout, extent, b, h});
}

// The tensor of q, k or v among the inputs from `first` on.
reference::Tensor tensor_of(const Signature& s, const KernelArgs& a, int first, const AttentionLayout& layout,
                            std::size_t place) {
    return reference::input(s, a, first + layout.places[place].tensor);
}

void run_attention(const Signature& s, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const AttentionExtent extent(layout, s.inputs, s.attributes.as<AttentionAttributes>());
    const auto q = tensor_of(s, a, 0, layout, 0), k = tensor_of(s, a, 0, layout, 1);
    const auto v = tensor_of(s, a, 0, layout, 2);
    const int optional = layout.num_tensors;
    const auto lengths = s.has(optional) ? reference::input(s, a, optional) : reference::Tensor{};
    const auto o = reference::output(s, a, 0), logsumexp = reference::output(s, a, 1);
    const Dropout dropout(s, a, optional + 1);
    for_heads(layout, extent, [&](const Head& head) {
        for (std::int64_t t = 0; t < extent.queries; ++t) {
            std::vector<double> p(static_cast<std::size_t>(head.num_seen(t, lengths)));
            for (std::size_t j = 0; j < p.size(); ++j)
                p[j] = extent.scale() *
                       dot(q, head.at(0, t), k, head.at(1, static_cast<std::int64_t>(j)), extent.size);
            const double greatest = p.empty() ? 0 : *std::ranges::max_element(p);
            double sum = 0;
            for (double& value : p) sum += value = std::exp(value - greatest);
            logsumexp.set(head.statistic(t), p.empty() ? 0 : greatest + std::log(sum));
            for (std::size_t j = 0; j < p.size(); ++j)
                p[j] *= dropout.factor(head, t, static_cast<std::int64_t>(j));
            for (std::int64_t d = 0; d < extent.size; ++d) {
                double value = 0;
                for (std::size_t j = 0; j < p.size(); ++j)
                    value += p[j] / sum * v(head.at(2, static_cast<std::int64_t>(j)) + d);
                o.set(head.output(t) + d, value);
            }
        }
    });
}

// Adds factor times a row to another of f64 sums.
void add_row(std::vector<double>& to, std::int64_t at, double factor, const reference::Tensor& from,
             std::int64_t ft, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[static_cast<std::size_t>(at + i)] += factor * from(ft + i);
}

// p = exp(score - logsumexp), f what dropout makes of it: grad_score = p (f grad_o . v - grad_o . o).
void run_attention_backward(const Signature& s, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const AttentionExtent extent(layout, std::span(s.inputs).subspan(1),
                                 s.attributes.as<AttentionAttributes>());
    const auto grad_o = reference::input(s, a, 0);
    const auto q = tensor_of(s, a, 1, layout, 0), k = tensor_of(s, a, 1, layout, 1);
    const auto v = tensor_of(s, a, 1, layout, 2);
    const int after = 1 + layout.num_tensors;
    const auto o = reference::input(s, a, after), logsumexp = reference::input(s, a, after + 1);
    const auto lengths = s.has(after + 2) ? reference::input(s, a, after + 2) : reference::Tensor{};
    const Dropout dropout(s, a, after + 3);
    std::vector<std::vector<double>> sums;
    for (const TensorType& type : s.outputs)
        sums.emplace_back(static_cast<std::size_t>(type.shape.num_elements()));
    const auto gradient = [&](std::size_t place) -> std::vector<double>& {
        return sums[static_cast<std::size_t>(layout.places[place].tensor)];
    };
    const std::int64_t size = extent.size;
    for_heads(layout, extent, [&](const Head& head) {
        for (std::int64_t t = 0; t < extent.queries; ++t) {
            const std::int64_t query = head.at(0, t), output = head.output(t);
            const double along = dot(grad_o, output, o, output, size);
            for (std::int64_t j = 0; j < head.num_seen(t, lengths); ++j) {
                const std::int64_t key = head.at(1, j), value = head.at(2, j);
                const double score = extent.scale() * dot(q, query, k, key, size);
                const double p = std::exp(score - logsumexp(head.statistic(t)));
                const double f = dropout.factor(head, t, j);
                const double grad_score =
                    extent.scale() * p * (f * dot(grad_o, output, v, value, size) - along);
                add_row(gradient(0), query, grad_score, k, key, size);
                add_row(gradient(1), key, grad_score, q, query, size);
                add_row(gradient(2), value, f * p, grad_o, output, size);
            }
        }
    });
    for (std::size_t i = 0; i < sums.size(); ++i)
        for (std::size_t e = 0; e < sums[i].size(); ++e)
            reference::output(s, a, static_cast<int>(i)).set(static_cast<std::int64_t>(e), sums[i][e]);
}

}  // namespace

void register_attention_ref(KernelTable& table) {
    for (const OpType* op : {&attention_op, &qkv_attention_op, &cross_attention_op})
        table.add(reference::kernel<run_attention>(*op));
    for (const OpType* op :
         {&attention_backward_op, &qkv_attention_backward_op, &cross_attention_backward_op})
        table.add(reference::kernel<run_attention_backward>(*op));
}

}  // namespace mpt
