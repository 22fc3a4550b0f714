// TensorBoard's event files, taken apart by an independent reader.
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <sstream>

#include "metrics/event_file.h"
#include "metrics/event_rows.h"
#include "support/scratch_folder.h"

using namespace mpt;

namespace {

template <typename T>
T at(const std::string& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::vector<std::string> records_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string bytes = text.str();
    std::vector<std::string> records;
    for (std::size_t p = 0; p < bytes.size();) {
        const auto length = static_cast<std::size_t>(at<std::uint64_t>(bytes, p));
        REQUIRE(at<std::uint32_t>(bytes, p + 8) == masked_crc32c(bytes.substr(p, 8)));
        records.push_back(bytes.substr(p + 12, length));
        REQUIRE(at<std::uint32_t>(bytes, p + 12 + length) == masked_crc32c(records.back()));
        p += 16 + length;
    }
    return records;
}

}  // namespace

TEST_CASE("CRC-32C of the usual check string and of RFC 3720's zeros") {
    CHECK(crc32c("123456789") == 0xE3069283U);
    CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
    CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43U);
}

TEST_CASE("an event file begins with its version and holds one event a row") {
    const test::ScratchFolder folder;
    TrainRow row;
    row.step = 300;  // two bytes as a varint
    row.loss = 1.5;
    std::string path;
    {
        EventFile events(folder.path().string() + "/deep/er", 0);
        path = events.path();
        events.write(row.step, scalars_of(row));
    }
    const std::vector<std::string> records = records_of(path);
    REQUIRE(records.size() == 2);
    CHECK(records[0].find("brain.Event:2") != std::string::npos);
    CHECK(records[1][0] == '\x09');                    // field 1, 8 bytes: the time
    CHECK(records[1].substr(9, 3) == "\x10\xAC\x02");  // field 2: step 300
    const std::size_t tag = records[1].find("train/loss");
    REQUIRE(tag != std::string::npos);
    CHECK(records[1].substr(tag - 2, 2) == "\x0A\x0A");  // field 1, 10 bytes
    CHECK(records[1][tag + 10] == '\x15');               // field 2, 4 bytes
    CHECK(at<float>(records[1], tag + 11) == 1.5F);
}

TEST_CASE("a resumed run says from which step on older events do not count") {
    const test::ScratchFolder folder;
    const EventFile events(folder.path().string(), 60);
    const std::vector<std::string> records = records_of(events.path());
    REQUIRE(records.size() == 2);
    CHECK(records[1].substr(9) == std::string("\x10\x3C\x3A\x02\x08\x01", 6));  // step 60, session_log START
}
