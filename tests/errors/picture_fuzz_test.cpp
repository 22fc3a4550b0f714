// The fuzz targets of tests/fuzz/ with files mutated at random: under the sanitizers, a short run of each.
#include <catch2/catch.hpp>

#include "core/philox.h"
#include "support/fuzz_targets.h"
#include "support/golden.h"
#include "support/pictures.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// Overwrites, removes and doubles bytes, in a few places.
PictureBytes mutated(PictureBytes bytes, RandomStream& random) {
    const std::uint64_t changes = 1 + random.below(6);
    for (std::uint64_t i = 0; i < changes && bytes.size() > 8; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(bytes.size()));
        const auto length = static_cast<std::ptrdiff_t>(
            random.below(std::min<std::uint64_t>(16, bytes.size() - static_cast<std::uint64_t>(at))));
        switch (random.below(5)) {
            case 0:
                bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random.below(256));
                break;
            case 1:
                bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1u << random.below(8));
                break;
            case 2:
                bytes.erase(bytes.begin() + at, bytes.begin() + at + length);
                break;
            case 3: {
                const PictureBytes copy(bytes.begin() + at, bytes.begin() + at + length);
                bytes.insert(bytes.begin() + at, copy.begin(), copy.end());
                break;
            }
            default:
                std::fill_n(bytes.begin() + at, length, std::uint8_t{0xFF});
        }
    }
    return bytes;
}

template <class Target>
void run(const Target& target, const PictureBytes& seed, int rounds, std::uint64_t number) {
    RandomStream random(7, RandomPurpose::kSample, number);
    for (int i = 0; i < rounds; ++i) target(mutated(seed, random));
}

}  // namespace

TEST_CASE("mutated pictures are decoded or refused") {
    std::uint64_t number = 0;
    for (const nlohmann::json values = golden("pictures").at("files"); const auto& file : values) {
        const std::string name = file.at("name");
        PictureBytes seed = from_hex(file.at("file"));
        seed.insert(seed.end(), {10, 10, 200, 200, 1, 0});
        ++number;
        if (name.starts_with("jpeg")) run(fuzz_jpeg, seed, 300, number);
        if (name.starts_with("png")) run(fuzz_png, seed, 200, number);
        if (name.starts_with("webp")) run(fuzz_webp, seed, 200, number);
    }
    CHECK(number == 15);
}

TEST_CASE("mutated archives and indices are read or refused") {
    PictureBytes tar;
    for (const char* name : {"a.jpg", "a.cls"}) {
        const std::string header = tar_header(name, 3);
        tar.insert(tar.end(), header.begin(), header.end());
        tar.resize(tar.size() + kTarBlock, 'x');
    }
    tar.resize(tar.size() + 2 * kTarBlock, 0);
    run(fuzz_tar, tar, 2000, 100);
    // Checksums hide what lies behind them: repaired ones do not.
    RandomStream random(7, RandomPurpose::kSample, 101);
    for (int i = 0; i < 2000; ++i) {
        PictureBytes bytes = tar;
        const std::size_t at = 100 + random.below(400);
        bytes[at < 148 || at >= 156 ? at : 124] = static_cast<std::uint8_t>(random.below(256));
        std::uint32_t sum = 0;
        for (std::size_t j = 0; j < kTarBlock; ++j) sum += j >= 148 && j < 156 ? ' ' : bytes[j];
        char digits[8];
        std::snprintf(digits, sizeof(digits), "%06o", sum);
        std::copy_n(digits, 7, bytes.begin() + 148);
        fuzz_tar(bytes);
    }
    ShardIndex index;
    index.class_names = {"cat", "dog"};
    index.shards = {{"train-000000.tar", 10240, 17, 0}};
    index.pictures = {{512, 1833, 0}, {3584, 2210, 1}};
    const std::string text = print(index);
    CHECK(parse_shard_index(text, "x").pictures.size() == 2);
    run(fuzz_shard_index, PictureBytes(text.begin(), text.end()), 2000, 102);
}
