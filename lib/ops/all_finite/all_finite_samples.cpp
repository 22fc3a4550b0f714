#include <cmath>
#include <limits>

#include "ops/all_finite/all_finite.h"
#include "ops/samples.h"

namespace mpt {

// Finite ones, the largest finite value, and one bad element at the first, a middle and the last place.
void register_all_finite_samples(SampleTable& table) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    struct Planted {
        const char* name;
        std::size_t at;
        double value;
    };
    for (const Planted planted :
         {Planted{"finite", 0, 0.5}, Planted{"largest", 3, 3.4028234e38}, Planted{"inf first", 0, kInfinity},
          Planted{"-inf middle", 130, -kInfinity}, Planted{"nan last", 256, std::nan("")}}) {
        SampleInput small{{7}}, planted_in{{257}}, one{{1}};
        for (SampleInput* input : {&small, &planted_in, &one}) input->kind = SampleInput::Kind::kWide;
        planted_in.values.assign(257, 0.25);
        planted_in.values[planted.at] = planted.value;
        table.add({planted.name, &all_finite_op, {}, {small, planted_in, one}});
    }
}

}  // namespace mpt
