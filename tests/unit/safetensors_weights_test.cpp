// Regions as tensors of a file: names, shapes and order of PyTorch, errors that name the first tensor (H32).
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "core/float_formats.h"
#include "support/errors.h"
#include "support/scratch_folder.h"
#include "support/small_store.h"

using namespace mpt;

TEST_CASE("convolution weights are OHWI in memory and OIHW in files") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    for (int i = 0; i < 4 * 3 * 2 * 5; ++i) store.set(Region::kMaster, i, static_cast<float>(i));
    write_tensors(folder / "w", weight_tensors(store.view()), 12);
    const SafetensorsFile file(folder / "w");
    const TensorEntry* conv = file.find("conv1.weight");
    REQUIRE(conv != nullptr);
    CHECK(conv->shape == Shape{4, 5, 3, 2});
    const auto bytes = file.read(*conv);
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    for (int o = 0; o < 4; ++o)
        for (int c = 0; c < 5; ++c)
            for (int h = 0; h < 3; ++h)
                for (int w = 0; w < 2; ++w)
                    REQUIRE(values[((o * 5 + c) * 3 + h) * 2 + w] ==
                            static_cast<float>(((o * 3 + h) * 2 + w) * 5 + c));
    std::vector<std::string> names;
    for (const TensorEntry& entry : file.tensors()) names.push_back(entry.name);
    CHECK(names == std::vector<std::string>{"conv1.weight", "bn1.weight", "bn1.running_mean",
                                            "bn1.running_var", "bn1.num_batches_tracked", "fc.weight"});
    std::int64_t batches = 0;
    std::memcpy(&batches, file.read(*file.find("bn1.num_batches_tracked")).data(), 8);
    CHECK(batches == 12);
}

TEST_CASE("weights come back to the bit, with or without the batch counters") {
    const test::ScratchFolder folder;
    for (const DType masters : {DType::f32, DType::f16}) {
        test::SmallStore store(3, masters);
        store.fill(1);
        for (const auto& counter : {std::optional<std::int64_t>(5), std::optional<std::int64_t>()}) {
            write_tensors(folder / "w", weight_tensors(store.view()), counter);
            test::SmallStore other(3, masters);
            read_tensors(SafetensorsFile(folder / "w"), weight_tensors(other.view()), Conversion::kExact);
            const auto a = weight_tensors(store.view());
            const auto b = weight_tensors(other.view());
            for (std::size_t i = 0; i < a.size(); ++i)
                CHECK(std::memcmp(a[i].data, b[i].data, static_cast<std::size_t>(a[i].bytes())) == 0);
        }
    }
}

TEST_CASE("another number of classes names the first tensor, both shapes and the count") {
    const test::ScratchFolder folder;
    test::SmallStore ten(10);
    ten.fill(1);
    write_tensors(folder / "w", weight_tensors(ten.view()));
    test::SmallStore twenty(20);
    twenty.fill(2);
    const SafetensorsFile file(folder / "w");
    const std::string text = test::error_of(
        ExitCode::kCheckpoint, [&] { read_tensors(file, weight_tensors(twenty.view()), Conversion::kAny); });
    CHECK_THAT(
        text, Catch::Contains("fc.weight: the file has F32 [10x4], the model has F32 [20x4] (1 tensor does"));
    test::SmallStore untouched(20);
    untouched.fill(2);
    CHECK(twenty.equals(untouched));

    const std::vector<Mismatch> left_out = read_fitting_tensors(file, weight_tensors(twenty.view()));
    REQUIRE(left_out.size() == 1);
    CHECK(left_out[0].tensor == "fc.weight");
    CHECK(twenty.get(Region::kMaster, 0) == ten.get(Region::kMaster, 0));
}

TEST_CASE("missing and unknown tensors are counted, too") {
    const test::ScratchFolder folder;
    test::SmallStore store;
    std::vector<FileTensor> tensors = weight_tensors(store.view());
    tensors[0].name = "stem.weight";
    write_tensors(folder / "w", tensors);
    const std::string text = test::error_of(ExitCode::kCheckpoint, [&] {
        read_tensors(SafetensorsFile(folder / "w"), weight_tensors(store.view()), Conversion::kAny);
    });
    CHECK_THAT(text, Catch::Contains("conv1.weight: missing in the file"));
    CHECK_THAT(text, Catch::Contains("(2 tensors do not fit)"));
}

TEST_CASE("narrow weights start an f32 run, but do not resume one; integers never fit") {
    const test::ScratchFolder folder;
    test::SmallStore half(3, DType::f16);
    half.fill(0.1f);
    write_tensors(folder / "w", weight_tensors(half.view()));
    const SafetensorsFile file(folder / "w");
    test::SmallStore full;
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint,
                              [&] { read_tensors(file, weight_tensors(full.view()), Conversion::kExact); }),
               Catch::Contains("the file has F16"));
    read_tensors(file, weight_tensors(full.view()), Conversion::kAny);
    CHECK(full.get(Region::kMaster, 0) == f16_value(f16_bits(0.35f)));

    std::vector<FileTensor> integers = weight_tensors(full.view());
    for (FileTensor& tensor : integers) tensor.type = FileType::I32;
    write_tensors(folder / "i", integers);
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint,
                              [&] {
                                  read_tensors(SafetensorsFile(folder / "i"), weight_tensors(full.view()),
                                               Conversion::kAny);
                              }),
               Catch::Contains("the file has I32"));
}

TEST_CASE("a single value that is not finite is found") {
    for (const DType masters : {DType::f32, DType::f16})
        for (const float bad :
             {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::quiet_NaN()}) {
            test::SmallStore store(3, masters);
            store.fill(1);
            CHECK(first_nonfinite(weight_tensors(store.view())).empty());
            store.set(Region::kMaster, 119, bad);  // the last of conv1.weight
            CHECK(first_nonfinite(weight_tensors(store.view())) == "conv1.weight");
        }
    test::SmallStore largest;
    for (int i = 0; i < 120; ++i) largest.set(Region::kMaster, i, std::numeric_limits<float>::max());
    CHECK(first_nonfinite(weight_tensors(largest.view())).empty());
}
