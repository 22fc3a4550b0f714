#include <algorithm>
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/reference.h"

namespace mpt {

namespace {

// Places of the rows of one head in tensors [B,T,H,D] and [B,S,H,D].
struct Head {
    AttentionExtent e;
    std::int64_t batch = 0, head = 0;

    std::int64_t query(std::int64_t t) const { return ((batch * e.queries + t) * e.heads + head) * e.size; }
    std::int64_t key(std::int64_t s) const { return ((batch * e.keys + s) * e.heads + head) * e.size; }
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
void for_heads(const AttentionExtent& extent, const Body& body) {
    for (std::int64_t b = 0; b < extent.batch; ++b)
        for (std::int64_t h = 0; h < extent.heads; ++h) body(Head{extent, b, h});
}

void run_attention(const Signature& s, const KernelArgs& a) {
    const AttentionExtent extent(s.in(0).shape, s.in(1).shape, s.attributes.as<AttentionAttributes>());
    const auto q = reference::input(s, a, 0), k = reference::input(s, a, 1), v = reference::input(s, a, 2);
    const auto lengths = s.has(3) ? reference::input(s, a, 3) : reference::Tensor{};
    const auto o = reference::output(s, a, 0), logsumexp = reference::output(s, a, 1);
    const Dropout dropout(s, a, 4);
    for_heads(extent, [&](const Head& head) {
        for (std::int64_t t = 0; t < extent.queries; ++t) {
            std::vector<double> p(static_cast<std::size_t>(head.num_seen(t, lengths)));
            for (std::size_t j = 0; j < p.size(); ++j)
                p[j] = extent.scale() *
                       dot(q, head.query(t), k, head.key(static_cast<std::int64_t>(j)), extent.size);
            const double greatest = p.empty() ? 0 : *std::ranges::max_element(p);
            double sum = 0;
            for (double& value : p) sum += value = std::exp(value - greatest);
            logsumexp.set(head.statistic(t), p.empty() ? 0 : greatest + std::log(sum));
            for (std::size_t j = 0; j < p.size(); ++j)
                p[j] *= dropout.factor(head, t, static_cast<std::int64_t>(j));
            for (std::int64_t d = 0; d < extent.size; ++d) {
                double value = 0;
                for (std::size_t j = 0; j < p.size(); ++j)
                    value += p[j] / sum * v(head.key(static_cast<std::int64_t>(j)) + d);
                o.set(head.query(t) + d, value);
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
    const AttentionExtent extent(s.in(1).shape, s.in(2).shape, s.attributes.as<AttentionAttributes>());
    const auto grad_o = reference::input(s, a, 0), q = reference::input(s, a, 1);
    const auto k = reference::input(s, a, 2), v = reference::input(s, a, 3), o = reference::input(s, a, 4);
    const auto logsumexp = reference::input(s, a, 5);
    const auto lengths = s.has(6) ? reference::input(s, a, 6) : reference::Tensor{};
    const Dropout dropout(s, a, 7);
    std::vector<double> sums[3];
    for (int i = 0; i < 3; ++i) sums[i].resize(static_cast<std::size_t>(s.out(i).shape.num_elements()));
    const std::int64_t size = extent.size;
    for_heads(extent, [&](const Head& head) {
        for (std::int64_t t = 0; t < extent.queries; ++t) {
            const std::int64_t at = head.query(t);
            const double along = dot(grad_o, at, o, at, size);
            for (std::int64_t j = 0; j < head.num_seen(t, lengths); ++j) {
                const std::int64_t key = head.key(j);
                const double score = extent.scale() * dot(q, at, k, key, size);
                const double p = std::exp(score - logsumexp(head.statistic(t)));
                const double f = dropout.factor(head, t, j);
                const double grad_score = extent.scale() * p * (f * dot(grad_o, at, v, key, size) - along);
                add_row(sums[0], at, grad_score, k, key, size);
                add_row(sums[1], key, grad_score, q, at, size);
                add_row(sums[2], key, f * p, grad_o, at, size);
            }
        }
    });
    for (int i = 0; i < 3; ++i)
        for (std::size_t e = 0; e < sums[i].size(); ++e)
            reference::output(s, a, i).set(static_cast<std::int64_t>(e), sums[i][e]);
}

}  // namespace

void register_attention_ref(KernelTable& table) {
    table.add(reference::kernel<run_attention>(attention_op));
    table.add(reference::kernel<run_attention_backward>(attention_backward_op));
}

}  // namespace mpt
