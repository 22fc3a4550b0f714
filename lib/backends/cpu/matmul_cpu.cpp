#include <algorithm>
#include <utility>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/matmul.h"
#include "backends/cpu/matmul_cut.h"
#include "backends/cpu/matmul_pack.h"
#include "backends/cpu/matmul_rows.h"
#include "backends/cpu/matmul_team.h"
#include "backends/cpu/matmul_tiles.h"
#include "backends/cpu/threads.h"

namespace mpt::cpu {

namespace {

using matmul_cut::ceil_div;
using matmul_cut::Cut;
using matmul_cut::Team;
using matmul_cut::tiles_for;
using matmul_pack::Panel;

constexpr std::int64_t kMostTile = 16 * 32;  // floats

// One thread's part of a product, or its team's.
class Part {
  public:
    Part(const MatmulSpec& spec, const MatmulArgs& args, const Cut& cut, int thread)
        : spec_(spec), args_(args), cut_(cut), tiles_(cut.tiles) {
        int m = thread / cut.grid_n, n = thread % cut.grid_n, member = 0;
        if (cut.team == Team::kRows) member = std::exchange(m, m / 2) % 2;
        if (cut.team == Team::kColumns) member = std::exchange(n, n / 2) % 2;
        rows_ = share_of(spec.m, m, cut.parts_m());
        panels_ = share_of(ceil_div(spec.n, tiles_.columns), n, cut.parts_n());
        num_row_panels_ = ceil_div(rows_.end - rows_.begin, tiles_.rows);
        float* memory = static_cast<float*>(args.workspace);
        a_ = memory + thread * (cut.a_floats + cut.b_floats);
        b_ = a_ + cut.a_floats;
        sums_ = memory + cut.num_threads() * (cut.a_floats + cut.b_floats) +
                (m * cut.parts_n() + n) * (cut.sums_floats + cut.team_words);
        team_ = MatmulTeam(sums_ + cut.sums_floats, cut.rounds, member);
    }

    void run() {
        for (first_n_ = panels_.begin; first_n_ < panels_.end; first_n_ += cut_.block_n) {
            count_n_ = std::min(cut_.block_n, panels_.end - first_n_);
            for (std::int64_t block = 0; block < cut_.num_k; ++block, ++round_) {
                k_ = k_of(block);
                first_ = block == 0;
                last_ = block + 1 == cut_.num_k;
                run_block(block);
            }
        }
    }

  private:
    std::int64_t depth() const { return k_.end - k_.begin; }
    Range k_of(std::int64_t block) const {
        return share_of(cut_.elements_k, static_cast<int>(block), static_cast<int>(cut_.num_k));
    }
    std::int64_t column_of(std::int64_t j) const { return (first_n_ + j) * tiles_.columns; }
    std::int64_t columns_of(std::int64_t j) const {
        return std::min<std::int64_t>(tiles_.columns, spec_.n - column_of(j));
    }
    float* panel_a(std::int64_t i) const { return a_ + i * tiles_.a_row * depth(); }
    float* panel_b(std::int64_t j) const { return b_ + j % cut_.kept_n * tiles_.columns * depth(); }
    Range rows_of(std::int64_t i) const {
        const Range rows =
            share_of(rows_.end - rows_.begin, static_cast<int>(i), static_cast<int>(num_row_panels_));
        return {rows_.begin + rows.begin, rows_.begin + rows.end};
    }

    // Which part of an operand a panel holds: `first` of `across`, its size that is not k.
    struct Packed {
        Panel panel;
        std::int64_t first, across;
    };
    // Elements of k, from the first of the block on.
    void pack_part(const MatmulOperand& operand, bool k_is_inner, const void* data, Packed to,
                   const Range& k) const {
        to.panel.data += k.begin * to.panel.row;
        to.panel.k = k.end - k.begin;
        simd::with_storage(operand.dtype, [&]<typename T>(T) {
            simd::with_activation(operand.activation, [&](auto activation) {
                pack_panel<activation()>(static_cast<const T*>(data), k_is_inner, k_.begin + k.begin, to);
            });
        });
    }
    // Elements of the panel from `element` on.
    template <Pointwise activation, typename T>
    void pack_panel(const T* data, bool k_is_inner, std::int64_t element, const Packed& to) const {
        const std::int64_t k = element * tiles_.values;
        const T* from = k_is_inner ? data + to.first * spec_.k + k : data + k * to.across + to.first;
        if constexpr (std::is_same_v<T, bf16>)
            if (tiles_.values == 2) {
                if (k_is_inner)
                    matmul_pack::pack_column_pairs<activation>(from, spec_.k, spec_.k - k, to.panel);
                else
                    matmul_pack::pack_row_pairs<activation>(from, to.across, spec_.k - k, to.panel);
                return;
            }
        if (k_is_inner)
            matmul_pack::pack_columns<activation>(from, spec_.k, to.panel);
        else
            matmul_pack::pack_rows<activation>(from, to.across, to.panel);
    }
    // Wider than a tile where the operand goes on: whole vectors are read faster. A few rows of k at a time
    // of all panels, where panels are narrower than the rows in memory.
    void pack_a(std::int64_t count) const {
        constexpr std::int64_t kRows = 8;
        const bool k_is_inner = !spec_.a.transposed;
        const std::int64_t step = k_is_inner ? depth() : kRows;
        for (std::int64_t k = 0; k < depth(); k += step)
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int64_t first = rows_of(first_m_ + i).begin,
                                   width = std::min<std::int64_t>(tiles_.a_row, spec_.m - first);
                pack_part(spec_.a, k_is_inner, args_.a,
                          {{panel_a(i), tiles_.a_row, width, 0, 0, tiles_.a_row}, first, spec_.m},
                          {k, std::min(k + step, depth())});
            }
    }

    // A panel of b is packed in parts between the tiles that use the one before it, and read from memory
    // while they are computed. A part is some columns of the whole depth where k is the inner index, as many
    // lines as two tiles fetch; else some rows of k and all columns, as many as one tile fetches.
    static constexpr std::int64_t kPartsOfRows = 8;
    std::int64_t parts_of_b() const { return spec_.b.transposed ? tiles_.columns / 8 : kPartsOfRows; }
    Range rows_of_part(std::int64_t part) const {
        return share_of(depth(), static_cast<int>(part), static_cast<int>(kPartsOfRows));
    }
    void pack_b(std::int64_t j, std::int64_t part) const {
        Packed to{{panel_b(j), tiles_.columns, columns_of(j), 0, 0, tiles_.columns}, column_of(j), spec_.n};
        Range k{0, depth()};
        if (spec_.b.transposed) {
            to.panel.first = part * 8;
            to.panel.last = to.panel.first + 8;
        } else {
            k = rows_of_part(part);
        }
        pack_part(spec_.b, spec_.b.transposed, args_.b, to, k);
    }
    // What the tile of row panel `i` fetches of panel j of b.
    void fetch_ahead(TileArgs& tile, std::int64_t i, std::int64_t j) const {
        const auto bytes = static_cast<std::int64_t>(size_of(spec_.b.dtype));
        const std::int64_t k = k_.begin * tiles_.values;
        const char* from = static_cast<const char*>(args_.b);
        if (spec_.b.transposed) {
            constexpr std::int64_t kLines = 4;
            const std::int64_t first = i * kLines, row = spec_.k * bytes;
            if (first + kLines > columns_of(j)) return;
            tile.ahead = from + (column_of(j) + first) * row + k * bytes;
            tile.ahead_step = 16 * tiles_.values * bytes;
            for (std::int64_t line = 0; line < kLines; ++line) tile.ahead_lines[line] = line * row;
        } else {
            if (i >= kPartsOfRows || columns_of(j) < tiles_.columns) return;
            const std::int64_t row = spec_.n * bytes,
                               second = tiles_.values == 2 ? row : tiles_.columns * bytes / 2;
            tile.ahead = from + (k + rows_of_part(i).begin * tiles_.values) * row + column_of(j) * bytes;
            tile.ahead_step = 2 * tiles_.values * row;
            tile.ahead_lines[1] = second;
            tile.ahead_lines[2] = tiles_.values * row;
            tile.ahead_lines[3] = tiles_.values * row + second;
        }
    }

    // The part of a that is packed next: its rows in memory, and pairs of lines in each. Every tile fetches
    // some rows of one pair.
    struct NextA {
        const char* data = nullptr;
        std::int64_t row = 0, rows = 0, pairs = 0;  // row in bytes
        TileArgs::Rows share(std::int64_t tile, std::int64_t rows_of_tile) const {
            if (data == nullptr) return {};
            const std::int64_t first = tile / pairs * rows_of_tile;
            if (first >= rows) return {};
            return {data + first * row + tile % pairs * 128, row};
        }
    };
    // Panels of a from `panels` on, and of k a block.
    NextA part_of_a(const Range& panels, const Range& block) const {
        if (panels.begin == panels.end) return {};
        const Range m = {rows_of(panels.begin).begin, rows_of(panels.end - 1).end};
        const Range k = {block.begin * tiles_.values, std::min(block.end * tiles_.values, spec_.k)};
        const Range &outer = spec_.a.transposed ? k : m, &inner = spec_.a.transposed ? m : k;
        const auto bytes = static_cast<std::int64_t>(size_of(spec_.a.dtype));
        const std::int64_t row = (spec_.a.transposed ? spec_.m : spec_.k) * bytes;
        return {static_cast<const char*>(args_.a) + outer.begin * row + inner.begin * bytes, row,
                outer.end - outer.begin, ceil_div((inner.end - inner.begin) * bytes, 128)};
    }

    // All panels of a that are this thread's with a block of k, as many at a time as the second cache holds.
    void run_block(std::int64_t block) {
        const bool shared = cut_.team == Team::kRows;
        const auto rows_from = [&](std::int64_t begin) {
            if (shared) return team_.take(round_, num_row_panels_, cut_.block_m);
            return Range{begin, std::min(begin + cut_.block_m, num_row_panels_)};
        };
        bool packs = true;
        for (Range rows = rows_from(0), next; rows.begin < rows.end; rows = next, packs = false) {
            next = rows_from(rows.end);
            if (next.begin < next.end)
                next_a_ = part_of_a(next, k_);
            else
                next_a_ = last_ || shared
                              ? NextA{}
                              : part_of_a({0, std::min(cut_.block_m, num_row_panels_)}, k_of(block + 1));
            first_m_ = rows.begin;
            block_count_m_ = rows.end - rows.begin;
            if (shared) team_.wait_for(rows, round_);
            run_rows(packs);
            if (shared) team_.end(rows, round_);
        }
    }

    // The panel of b to take after j, or -1.
    std::int64_t panel_after(std::int64_t j) const {
        if (cut_.team != Team::kColumns) return j + 1 < count_n_ ? j + 1 : -1;
        const Range taken = team_.take(round_, count_n_, 1);
        return taken.begin < taken.end ? taken.begin : -1;
    }

    void run_rows(bool packs) {
        std::int64_t j = panel_after(-1);
        if (j < 0) return;
        pack_a(block_count_m_);
        if (packs)
            for (std::int64_t part = 0; part < parts_of_b(); ++part) pack_b(j, part);
        for (nth_panel_ = 0; j >= 0; ++nth_panel_) {
            const std::int64_t next = panel_after(j);
            if (cut_.team == Team::kColumns) team_.wait_for({j, j + 1}, round_);
            run_panel(j, packs ? next : -1);
            if (cut_.team == Team::kColumns) team_.end({j, j + 1}, round_);
            j = next;
        }
    }

    // All tiles of panel j of b; panel `next` is packed on the way, if there is one.
    void run_panel(std::int64_t j, std::int64_t next) {
        const std::int64_t parts = next < 0 ? 0 : parts_of_b();
        std::int64_t packed = 0;
        for (std::int64_t i = 0; i < block_count_m_; ++i) {
            run_tile(i, j, next);
            const std::int64_t fetched = spec_.b.transposed ? (i + 1) / 2 : i + 1;
            for (; packed < std::min(fetched, parts); ++packed) pack_b(next, packed);
        }
        for (; packed < parts; ++packed) pack_b(next, packed);
    }

    void run_tile(std::int64_t i, std::int64_t j, std::int64_t next) const {
        const Range rows = rows_of(first_m_ + i);
        const std::int64_t count = rows.end - rows.begin, column = column_of(j), columns = columns_of(j);
        TileArgs tile{.a = panel_a(i), .b = panel_b(j), .k = depth(), .add = !first_ || spec_.accumulate};
        alignas(64) float bias[32];
        if (first_ && spec_.bias) {
            std::fill(std::copy_n(args_.bias + column, columns, bias), std::end(bias), 0.0f);
            tile.start = bias;
        }
        if (next >= 0) fetch_ahead(tile, i, next);
        const bool derives = last_ && spec_.derivative_at_x != Pointwise::kIdentity;
        if (columns == tiles_.columns) {
            const auto bytes = static_cast<std::int64_t>(size_of(spec_.c));
            const std::int64_t at = (rows.begin * spec_.n + column) * bytes, row = spec_.n * bytes;
            if (cut_.direct) tile.soon[0] = {static_cast<const char*>(args_.c) + at, row};
            if (derives) tile.soon[1] = {static_cast<const char*>(args_.x) + at, row};
        }
        if (tile.soon[1].data == nullptr)
            tile.soon[1] =
                next_a_.share(nth_panel_ * block_count_m_ + i, (rows_.end - rows_.begin) / num_row_panels_);
        if (!cut_.direct) return run_rounded(tile, rows, j);
        run_direct(tile, static_cast<float*>(args_.c) + rows.begin * spec_.n + column, count, columns);
        if (derives) {
            tile.c = static_cast<float*>(args_.c) + rows.begin * spec_.n + column;
            tile.c_row = spec_.n;
            finish(tile, rows, column, columns);
        }
    }

    // Sums in c itself, but for tiles that reach over its edge.
    void run_direct(TileArgs& tile, float* c, std::int64_t count, std::int64_t columns) const {
        if (columns == tiles_.columns) {
            tile.c = c;
            tile.c_row = spec_.n;
            tiles_.run[count](tile);
            return;
        }
        alignas(64) float own[kMostTile];
        tile.c = own;
        tile.c_row = tiles_.columns;
        if (tile.add) copy_tile(c, spec_.n, own, tile.c_row, count, columns);
        tiles_.run[count](tile);
        copy_tile(own, tile.c_row, c, spec_.n, count, columns);
    }

    // Sums beside c; between blocks of k they wait in the workspace.
    void run_rounded(TileArgs& tile, const Range& rows, std::int64_t j) const {
        alignas(64) float own[kMostTile];
        const bool waits = cut_.num_k > 1;
        const std::int64_t row = cut_.block_n * tiles_.columns;
        tile.c = waits ? sums_ + (rows.begin - rows_.begin) * row + j * tiles_.columns : own;
        tile.c_row = waits ? row : tiles_.columns;
        tiles_.run[rows.end - rows.begin](tile);
        if (last_) finish(tile, rows, column_of(j), columns_of(j));
    }

    static void copy_tile(const float* from, std::int64_t from_row, float* to, std::int64_t to_row,
                          std::int64_t rows, std::int64_t columns) {
        for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_row, columns, to + r * to_row);
    }

    // Rounds a tile of sums, which may be c itself, into c, through the derivative if there is one. All of x
    // is read before c is written: rows of both are likely to be a multiple of 4 KiB apart, where a load
    // waits for the stores.
    void finish(const TileArgs& tile, const Range& rows, std::int64_t column, std::int64_t columns) const {
        alignas(64) float own[kMostTile];
        const float* from = tile.c;
        std::int64_t from_row = tile.c_row;
        const auto for_rows = [&](const auto& body) {
            for (std::int64_t r = rows.begin; r < rows.end; ++r)
                body(from + (r - rows.begin) * from_row, own + (r - rows.begin) * tiles_.columns,
                     r * spec_.n + column);
        };
        simd::with_storage(spec_.c, [&]<typename T>(T) {
            simd::with_activation(spec_.derivative_at_x, [&](auto activation) {
                if constexpr (activation() != Pointwise::kIdentity) {
                    for_rows([&](const float* sums, float* to, std::int64_t at) {
                        const T* x = static_cast<const T*>(args_.x) + at;
                        simd::for_lanes(0, columns, [&](std::int64_t c, auto lanes) {
                            const __m256 v = simd::load(sums + c, lanes);
                            simd::store(to + c, simd::through<activation()>(v, simd::load(x + c, lanes)),
                                        lanes);
                        });
                    });
                    from = own;
                    from_row = tiles_.columns;
                }
            });
            for_rows([&](const float* sums, float*, std::int64_t at) {
                T* to = static_cast<T*>(args_.c) + at;
                simd::for_lanes(0, columns, [&](std::int64_t c, auto lanes) {
                    simd::store(to + c, simd::load(sums + c, lanes), lanes);
                });
            });
        });
    }

    const MatmulSpec& spec_;
    const MatmulArgs& args_;
    const Cut& cut_;
    const TileSet& tiles_;
    Range rows_, panels_;  // of c; panels of b
    std::int64_t num_row_panels_ = 0;
    float *a_ = nullptr, *b_ = nullptr, *sums_ = nullptr;
    MatmulTeam team_;
    // The present block: panels of b, rows of k, panels of a.
    std::int64_t first_n_ = 0, count_n_ = 0, first_m_ = 0, block_count_m_ = 0, round_ = 0, nth_panel_ = 0;
    NextA next_a_;
    Range k_;
    bool first_ = true, last_ = true;
};

// The state of all teams, before any of their threads runs.
void clear_teams(const Cut& cut, float* workspace) {
    const std::int64_t of_part = cut.sums_floats + cut.team_words;
    float* parts = workspace + cut.num_threads() * (cut.a_floats + cut.b_floats);
    for (int part = 0; part < cut.parts_m() * cut.parts_n(); ++part)
        std::fill_n(parts + part * of_part + cut.sums_floats, cut.team_words, 0.0f);
}

}  // namespace

std::string matmul_description(const MatmulSpec& spec) {
    if (!is_few_rows(spec) && tiles_for(spec).values == 2) return "bf16 avx512, sums in f32";
    const std::string tile = instruction_set() == InstructionSet::kAvx512 ? "f32 avx512" : "f32 avx2";
    return tile + (is_narrow(spec.a.dtype) || is_narrow(spec.b.dtype) ? ", operands widened" : "");
}

std::size_t matmul_workspace_bytes(const MatmulSpec& spec, int num_threads) {
    if (is_few_rows(spec)) return few_rows_workspace_bytes(spec);
    const Cut cut(spec, num_threads);
    return static_cast<std::size_t>(cut.floats()) * sizeof(float);
}

void matmul(const MatmulSpec& spec, const MatmulArgs& args, int num_threads) {
    if (is_few_rows(spec)) return matmul_few_rows(spec, args, num_threads);
    const Cut cut(spec, num_threads);
    clear_teams(cut, static_cast<float*>(args.workspace));
    run_threads(cut.num_threads(), [&](int thread) { Part(spec, args, cut, thread).run(); });
}

}  // namespace mpt::cpu
