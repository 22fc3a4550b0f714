// The reader against files written byte by byte after the format's description; every fault is exit 5 in one
// line that names the file.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "support/errors.h"
#include "support/scratch_folder.h"
#include "train/safetensors.h"

using namespace mpt;

namespace {

std::string file_bytes(const std::string& header, const std::string& data, std::int64_t length = -1) {
    const auto n = static_cast<std::uint64_t>(length < 0 ? static_cast<std::int64_t>(header.size()) : length);
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &n, 8);
    return bytes + header + data;
}

std::string floats(std::initializer_list<float> values) {
    return {reinterpret_cast<const char*>(values.begin()), values.size() * 4};
}

std::string fault_of(const std::string& bytes) {
    const test::ScratchFolder folder;
    const auto path = folder / "x.safetensors";
    test::write_file(path, bytes);
    const std::string text = test::error_of(ExitCode::kCheckpoint, [&] { SafetensorsFile file(path); });
    CHECK_THAT(text, Catch::StartsWith(path.string() + ": "));
    return text;
}

std::string entry(const std::string& name, const std::string& shape, const std::string& offsets,
                  const std::string& dtype = "F32") {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
}

}  // namespace

TEST_CASE("a file of two tensors and metadata is read") {
    const test::ScratchFolder folder;
    const auto path = folder / "x.safetensors";
    const std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," + entry("b", "[3]", "[4,16]") + "," +
                               entry("a", "[]", "[0,4]") + "," + entry("none", "[0,7]", "[4,4]") + "}   ";
    test::write_file(path, file_bytes(header, floats({7, 1, 2, 3})));
    const SafetensorsFile file(path);
    REQUIRE(file.tensors().size() == 3);
    CHECK(file.metadata().at("format") == "pt");
    const TensorEntry* b = file.find("b");
    REQUIRE(b != nullptr);
    CHECK(b->shape == Shape{3});
    const auto bytes = file.read(*b);
    float values[3];
    std::memcpy(values, bytes.data(), 12);
    CHECK(values[2] == 3.0f);
    CHECK(file.find("a")->shape.rank() == 0);
    CHECK(file.find("c") == nullptr);
}

TEST_CASE("damaged files are refused") {
    const std::string two = floats({1, 2});
    CHECK_THAT(fault_of(""), Catch::Contains("only 0 bytes"));
    CHECK_THAT(fault_of("1234567"), Catch::Contains("only 7 bytes"));
    CHECK_THAT(fault_of(file_bytes("{}", "", 1LL << 60)), Catch::Contains("does not fit"));
    CHECK_THAT(fault_of(file_bytes("{}", "", 3)), Catch::Contains("does not fit"));
    CHECK_THAT(fault_of(std::string(8, '\xff')), Catch::Contains("does not fit"));
    CHECK_THAT(fault_of(file_bytes("not json", "")), Catch::Contains("not JSON"));
    CHECK_THAT(fault_of(file_bytes("[1]", "")), Catch::Contains("not a JSON object"));
    CHECK_THAT(fault_of(file_bytes("{\"a\":1}", "")), Catch::Contains("a: needs dtype"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[2]", "[0,8]", "F99") + "}", two)),
               Catch::Contains("unknown dtype \"F99\""));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[3]", "[0,8]") + "}", two)),
               Catch::Contains("12 bytes"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[2]", "[8,0]") + "}", two)), Catch::Contains("a:"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[-2]", "[0,8]") + "}", two)),
               Catch::Contains("whole numbers"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[2.0]", "[0,8]") + "}", two)),
               Catch::Contains("whole numbers"));
    CHECK_THAT(
        fault_of(file_bytes("{" + entry("a", "[4294967296,4294967296,4294967296]", "[0,8]") + "}", two)),
        Catch::Contains("too large"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[4]", "[0,16]") + "}", two)),
               Catch::Contains("16 bytes"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[1]", "[0,4]") + "}", two)), Catch::Contains("holds 8"));
    CHECK_THAT(fault_of(file_bytes("{" + entry("a", "[1]", "[4,8]") + "}", two)), Catch::Contains("hole"));
    CHECK_THAT(
        fault_of(file_bytes("{" + entry("a", "[2]", "[0,8]") + "," + entry("b", "[1]", "[4,8]") + "}", two)),
        Catch::Contains("overlaps"));
    CHECK_THAT(
        fault_of(file_bytes("{" + entry("a", "[1]", "[0,4]") + "," + entry("a", "[1]", "[4,8]") + "}", two)),
        Catch::Contains("'a' is there twice"));
    CHECK_THAT(fault_of(file_bytes("{\"__metadata__\":{\"a\":1}}", "")), Catch::Contains("__metadata__"));
    CHECK_THAT(fault_of(file_bytes("{\"a\":" + std::string(100000, '[') + "}", "")),
               Catch::Contains("nested"));
    // A name with a line break must not break the message.
    CHECK_THAT(fault_of(file_bytes("{\"a\\nb\":1}", "")), Catch::Contains("a?b"));
}

TEST_CASE("every cut of a good file is refused") {
    const std::string good = file_bytes("{" + entry("a", "[2]", "[0,8]") + "}", floats({1, 2}));
    for (std::size_t n = 0; n < good.size(); ++n) fault_of(good.substr(0, n));
    fault_of(good + "x");
}

TEST_CASE("a missing file and a directory are refused") {
    const test::ScratchFolder folder;
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [&] { SafetensorsFile f(folder / "no"); }),
               Catch::Contains("No such file"));
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [&] { SafetensorsFile f(folder.path()); }),
               Catch::Contains("not a regular file"));
}

TEST_CASE("the writer's files are read back, tensors on a multiple of 8") {
    const test::ScratchFolder folder;
    const auto path = folder / "x.safetensors";
    const float values[3] = {1.5f, -0.0f, 3e38f};
    const std::int64_t count = 42;
    {
        SafetensorsWriter writer(path);
        writer.declare("odd name \"quoted\" Ö", FileType::F32, Shape{3});
        writer.declare("count", FileType::I64, Shape{});
        writer.write(std::as_bytes(std::span(values)));
        writer.write(std::as_bytes(std::span(&count, 1)));
        const FileDigest digest = writer.finish();
        CHECK(digest == digest_file(path));
    }
    const SafetensorsFile file(path);
    const auto bytes = file.read(*file.find("odd name \"quoted\" Ö"));
    CHECK(std::memcmp(bytes.data(), values, 12) == 0);
    std::int64_t read_count = 0;
    std::memcpy(&read_count, file.read(*file.find("count")).data(), 8);
    CHECK(read_count == 42);
    std::uint64_t header = 0;
    std::memcpy(&header, test::file_text(path).data(), 8);
    CHECK(header % 8 == 0);
}

TEST_CASE("a writer that is not finished leaves no file") {
    const test::ScratchFolder folder;
    const auto path = folder / "x.safetensors";
    {
        SafetensorsWriter writer(path);
        writer.declare("a", FileType::U8, Shape{1});
    }
    CHECK_FALSE(std::filesystem::exists(path));
}
