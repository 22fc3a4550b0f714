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

TEST_CASE("transposed matrices and padded vocabularies are as they should be in files, and come back") {
    const test::ScratchFolder folder;
    for (const DType dtype : {DType::f32, DType::f16}) {
        INFO(name_of(dtype));
        VariableTable table;
        table.get_or_add("c_attn.weight", {6, 4}, Role::kMatrix, {}, {.transposed = true});
        table.get_or_add("wte.weight", {64, 2}, Role::kEmbedding, {}, {.rows = 5});
        table.get_or_add("after.weight", {3}, Role::kNormGain, {});
        CHECK(table.num_parameters() == 6 * 4 + 5 * 2 + 3);
        table.enable(Region::kMaster, dtype, table.parameter_elements());
        std::vector<std::byte> memory(static_cast<std::size_t>(table.region_bytes(Region::kMaster)));
        StoreView view;
        view.table = &table;
        view.regions[static_cast<std::size_t>(Region::kMaster)] = memory.data();
        const auto element = [&](const char* name, std::int64_t i) -> std::uint16_t* {
            const std::int64_t at = table[table.find(name)].offset + i;
            return reinterpret_cast<std::uint16_t*>(memory.data() +
                                                    at * static_cast<std::int64_t>(size_of(dtype)));
        };
        for (int i = 0; i < 6 * 4; ++i) *element("c_attn.weight", i) = static_cast<std::uint16_t>(i + 1);
        for (int i = 0; i < 64 * 2; ++i) *element("wte.weight", i) = static_cast<std::uint16_t>(100 + i);
        for (int i = 0; i < 3; ++i) *element("after.weight", i) = static_cast<std::uint16_t>(500 + i);
        write_tensors(folder / "w", weight_tensors(view));

        const SafetensorsFile file(folder / "w");
        REQUIRE(file.find("c_attn.weight")->shape == Shape{4, 6});
        REQUIRE(file.find("wte.weight")->shape == Shape{5, 2});
        const std::vector<std::byte> bytes = file.read(*file.find("c_attn.weight"));
        for (int o = 0; o < 6; ++o)
            for (int i = 0; i < 4; ++i) {
                std::uint16_t value = 0;
                std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i * 6 + o) * size_of(dtype), 2);
                CHECK(value == o * 4 + i + 1);
            }
        // Padding is zero after reading, whatever was there; the next variable is untouched by it.
        std::ranges::fill(memory, std::byte{0x3c});
        read_tensors(file, weight_tensors(view), Conversion::kExact);
        for (int i = 0; i < 6 * 4; ++i) CHECK(*element("c_attn.weight", i) == i + 1);
        for (int i = 0; i < 64 * 2; ++i) CHECK(*element("wte.weight", i) == (i < 10 ? 100 + i : 0));
        for (int i = 0; i < 3; ++i) CHECK(*element("after.weight", i) == 500 + i);
    }
}
