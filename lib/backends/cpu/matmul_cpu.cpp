#include <unistd.h>

#include <algorithm>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/matmul.h"
#include "backends/cpu/matmul_pack.h"
#include "backends/cpu/matmul_rows.h"
#include "backends/cpu/matmul_tiles.h"
#include "backends/cpu/threads.h"

namespace mpt::cpu {

namespace {

using matmul_pack::Panel;

constexpr std::int64_t kMostDepth = 768;             // of a block, so that a panel stays in the second cache
constexpr std::int64_t kLeastDepth = 256;            // that pays for keeping all of a in the second cache
constexpr std::int64_t kBytesOfB = 4 * 1024 * 1024;  // of a block of b: in the last cache
constexpr double kFlopsOfThread = 1 << 19;           // less does not pay for waking one

constexpr std::int64_t kMostTile = 16 * 32;  // floats

// Of a block of a: half of the second cache. 1 MiB where the system does not tell its size.
std::int64_t bytes_of_a() {
    static const std::int64_t bytes = [] {
        const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
        return (size > 0 ? static_cast<std::int64_t>(size) : 1 << 20) / 2;
    }();
    return bytes;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
constexpr std::int64_t in_lines(std::int64_t floats) {
    return ceil_div(floats, 16) * 16;
}

const TileSet& tiles_for(const MatmulSpec& s) {
    if (s.a.dtype == DType::bf16 && s.b.dtype == DType::bf16 && has_bf16_products())
        return tiles_bf16_avx512();
    return instruction_set() == InstructionSet::kAvx512 ? tiles_avx512() : tiles_avx2();
}

// How a product is cut: a grid of threads over c, and each thread's part into blocks.
struct Cut {
    const TileSet& tiles;
    int grid_m = 1, grid_n = 1;
    std::int64_t elements_k = 0;                               // of a panel
    std::int64_t num_k = 1, depth = 0;                         // blocks of them, and the greatest
    std::int64_t block_m = 0;                                  // most panels of a in a block
    std::int64_t block_n = 0;                                  // most panels of b
    std::int64_t kept_n = 0;                                   // of them packed at a time
    bool direct = true;                                        // sums go straight to c
    std::int64_t a_floats = 0, b_floats = 0, sums_floats = 0;  // of a thread

    Cut(const MatmulSpec& s, int most_threads) : tiles(tiles_for(s)) {
        const TileSet& t = tiles;
        choose_grid(s, most_threads);
        elements_k = ceil_div(s.k, t.values);
        // Few rows of a are taken as one block, less deep, so that a panel of b is used up at once. Decided
        // by all rows, not by a thread's: the order of sums must not hang on the number of threads.
        const std::int64_t depth_of_all = bytes_of_a() / 4 / (ceil_div(s.m, t.rows) * t.a_row);
        num_k = std::max<std::int64_t>(
            1, ceil_div(elements_k,
                        depth_of_all < kLeastDepth ? kMostDepth : std::min(kMostDepth, depth_of_all)));
        depth = ceil_div(elements_k, num_k);
        const std::int64_t rows = ceil_div(s.m, grid_m),
                           panels_n = ceil_div(ceil_div(s.n, t.columns), grid_n);
        const std::int64_t panel_floats = std::max<std::int64_t>(1, depth);
        const std::int64_t panels_m = ceil_div(rows, t.rows),
                           most_m = std::max<std::int64_t>(1, bytes_of_a() / 4 / (panel_floats * t.a_row));
        block_m = ceil_div(panels_m, ceil_div(panels_m, most_m));
        const std::int64_t most = std::max<std::int64_t>(1, kBytesOfB / 4 / (panel_floats * t.columns));
        block_n = ceil_div(panels_n, ceil_div(panels_n, most));
        kept_n = block_n;
        direct = s.c == DType::f32 && s.derivative_at_x == Pointwise::kIdentity;
        if (block_m == panels_m) {
            kept_n = 2;
            if (direct) block_n = panels_n;
        }
        a_floats = in_lines(block_m * t.a_row * depth);
        b_floats = in_lines(kept_n * t.columns * depth);
        if (!direct && num_k > 1) sums_floats = in_lines(rows * block_n * t.columns);
    }
    int num_threads() const { return grid_m * grid_n; }
    std::int64_t floats() const { return a_floats + b_floats + sums_floats; }

  private:
    // Each thread packs its own operands: the grid with the least to pack.
    void choose_grid(const MatmulSpec& s, int most_threads) {
        const double flops =
            2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        const int threads = static_cast<int>(std::clamp(flops / kFlopsOfThread, 1.0, 1.0 * most_threads));
        const std::int64_t panels = ceil_div(s.n, tiles.columns);
        std::int64_t least = -1;
        for (int gm = 1; gm <= threads; ++gm) {
            const int gn = threads / gm;
            if (gm * gn != threads || gm > s.m || gn > panels) continue;
            const std::int64_t packed = ceil_div(s.m, gm) + ceil_div(panels, gn) * tiles.columns;
            if (least >= 0 && packed >= least) continue;
            least = packed;
            grid_m = gm;
            grid_n = gn;
        }
    }
};

// One thread's part of a product.
class Part {
  public:
    Part(const MatmulSpec& spec, const MatmulArgs& args, const Cut& cut, int thread)
        : spec_(spec),
          args_(args),
          cut_(cut),
          tiles_(cut.tiles),
          rows_(share_of(spec.m, thread / cut.grid_n, cut.grid_m)),
          panels_(share_of(ceil_div(spec.n, tiles_.columns), thread % cut.grid_n, cut.grid_n)),
          num_row_panels_(ceil_div(rows_.end - rows_.begin, tiles_.rows)) {
        a_ = static_cast<float*>(args.workspace) + thread * cut.floats();
        b_ = a_ + cut.a_floats;
        sums_ = b_ + cut.b_floats;
    }

    void run() {
        for (first_n_ = panels_.begin; first_n_ < panels_.end; first_n_ += cut_.block_n) {
            count_n_ = std::min(cut_.block_n, panels_.end - first_n_);
            for (std::int64_t block = 0; block < cut_.num_k; ++block) {
                k_ = share_of(cut_.elements_k, static_cast<int>(block), static_cast<int>(cut_.num_k));
                first_ = block == 0;
                last_ = block + 1 == cut_.num_k;
                for (first_m_ = 0; first_m_ < num_row_panels_; first_m_ += cut_.block_m) run_rows();
            }
        }
    }

  private:
    std::int64_t depth() const { return k_.end - k_.begin; }
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

    void run_rows() {
        const std::int64_t count = std::min(cut_.block_m, num_row_panels_ - first_m_);
        const bool packs = first_m_ == 0;
        const std::int64_t parts = parts_of_b();
        pack_a(count);
        if (packs)
            for (std::int64_t part = 0; part < parts; ++part) pack_b(0, part);
        for (std::int64_t j = 0; j < count_n_; ++j) {
            const bool goes_on = packs && j + 1 < count_n_;
            std::int64_t packed = 0;
            for (std::int64_t i = 0; i < count; ++i) {
                run_tile(i, j, goes_on);
                if (!goes_on) continue;
                const std::int64_t fetched = spec_.b.transposed ? (i + 1) / 2 : i + 1;
                for (; packed < std::min(fetched, parts); ++packed) pack_b(j + 1, packed);
            }
            if (goes_on)
                for (; packed < parts; ++packed) pack_b(j + 1, packed);
        }
    }

    void run_tile(std::int64_t i, std::int64_t j, bool goes_on) const {
        const Range rows = rows_of(first_m_ + i);
        const std::int64_t count = rows.end - rows.begin, column = column_of(j), columns = columns_of(j);
        TileArgs tile{.a = panel_a(i), .b = panel_b(j), .k = depth(), .add = !first_ || spec_.accumulate};
        alignas(64) float bias[32];
        if (first_ && spec_.bias) {
            std::fill(std::copy_n(args_.bias + column, columns, bias), std::end(bias), 0.0f);
            tile.start = bias;
        }
        if (goes_on) fetch_ahead(tile, i, j + 1);
        const void* soon = nullptr;
        if (cut_.direct)
            soon = args_.c;
        else if (last_ && spec_.derivative_at_x != Pointwise::kIdentity)
            soon = args_.x;
        if (soon != nullptr && columns == tiles_.columns) {
            const auto bytes = static_cast<std::int64_t>(size_of(spec_.c));
            tile.soon = static_cast<const char*>(soon) + (rows.begin * spec_.n + column) * bytes;
            tile.soon_row = spec_.n * bytes;
        }
        if (cut_.direct)
            run_direct(tile, static_cast<float*>(args_.c) + rows.begin * spec_.n + column, count, columns);
        else
            run_rounded(tile, rows, j);
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

    // Rounds a tile of sums into c, through the derivative if there is one. All of x is read before c is
    // written: rows of both are likely to be a multiple of 4 KiB apart, where a load waits for the stores.
    void finish(const TileArgs& tile, const Range& rows, std::int64_t column, std::int64_t columns) const {
        const auto for_rows = [&](const auto& body) {
            for (std::int64_t r = rows.begin; r < rows.end; ++r)
                body(tile.c + (r - rows.begin) * tile.c_row, r * spec_.n + column);
        };
        simd::with_storage(spec_.c, [&]<typename T>(T) {
            simd::with_activation(spec_.derivative_at_x, [&](auto activation) {
                if constexpr (activation() != Pointwise::kIdentity)
                    for_rows([&](float* sums, std::int64_t at) {
                        const T* x = static_cast<const T*>(args_.x) + at;
                        simd::for_lanes(0, columns, [&](std::int64_t c, auto lanes) {
                            const __m256 v = simd::load(sums + c, lanes);
                            simd::store(sums + c, simd::through<activation()>(v, simd::load(x + c, lanes)),
                                        lanes);
                        });
                    });
            });
            for_rows([&](const float* sums, std::int64_t at) {
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
    std::int64_t num_row_panels_;
    float *a_, *b_, *sums_;
    // The present block: panels of b, rows of k, panels of a.
    std::int64_t first_n_ = 0, count_n_ = 0, first_m_ = 0;
    Range k_;
    bool first_ = true, last_ = true;
};

}  // namespace

std::string matmul_description(const MatmulSpec& spec) {
    if (!is_few_rows(spec) && tiles_for(spec).values == 2) return "bf16 avx512, sums in f32";
    const std::string tile = instruction_set() == InstructionSet::kAvx512 ? "f32 avx512" : "f32 avx2";
    return tile + (is_narrow(spec.a.dtype) || is_narrow(spec.b.dtype) ? ", operands widened" : "");
}

std::size_t matmul_workspace_bytes(const MatmulSpec& spec, int num_threads) {
    if (is_few_rows(spec)) return few_rows_workspace_bytes(spec);
    const Cut cut(spec, num_threads);
    return static_cast<std::size_t>(cut.floats() * cut.num_threads()) * sizeof(float);
}

void matmul(const MatmulSpec& spec, const MatmulArgs& args, int num_threads) {
    if (is_few_rows(spec)) return matmul_few_rows(spec, args, num_threads);
    const Cut cut(spec, num_threads);
    run_threads(cut.num_threads(), [&](int thread) { Part(spec, args, cut, thread).run(); });
}

}  // namespace mpt::cpu
