#include "metrics/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace mpt {

namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

template <typename T>
void append(std::string& out, T value) {
    std::array<char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof(T));
    out.append(bytes.data(), bytes.size());
}

// Wire types of protocol buffers.
enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}
void append_key(std::string& out, unsigned field, Wire wire) {
    append_varint(out, (field << 3) | static_cast<unsigned>(wire));
}
void append_bytes(std::string& out, unsigned field, std::string_view bytes) {
    append_key(out, field, Wire::kBytes);
    append_varint(out, bytes.size());
    out += bytes;
}

double wall_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Event: wall_time 1, step 2; the rest is appended by the caller.
std::string event_at(std::int64_t step) {
    std::string event;
    append_key(event, 1, Wire::kFixed64);
    append(event, wall_time());
    append_key(event, 2, Wire::kVarint);
    append_varint(event, static_cast<std::uint64_t>(step));
    return event;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "host";
    return name.data();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    static const std::array<std::uint32_t, 256> kTable = [] {
        std::array<std::uint32_t, 256> table{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t crc = i;
            for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
            table[i] = crc;
        }
        return table;
    }();
    std::uint32_t crc = ~0U;
    for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
    return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
    return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U;
}

EventFile::EventFile(const std::string& folder, std::int64_t first_step) {
    std::error_code ignored;  // opening says what is wrong
    std::filesystem::create_directories(folder, ignored);
    path_ = folder + "/events.out.tfevents." + std::to_string(static_cast<std::int64_t>(wall_time())) + "." +
            host_name() + "." + std::to_string(getpid());
    file_.reset(std::fopen(path_.c_str(), "wb"));
    if (file_ == nullptr)
        throw Error(ExitCode::kResource, path_ + ": cannot be written: " + std::strerror(errno));
    std::string version = event_at(0);
    append_bytes(version, 3, "brain.Event:2");
    write_record(version);
    if (first_step <= 0) return;
    std::string start = event_at(first_step);
    append_bytes(start, 7, std::string("\x08\x01", 2));  // session_log: status 1 = START
    write_record(start);
}

void EventFile::write(std::int64_t step, const std::vector<Scalar>& scalars) {
    std::string summary;
    for (const Scalar& scalar : scalars) {
        std::string value;
        append_bytes(value, 1, scalar.tag);
        append_key(value, 2, Wire::kFixed32);
        append(value, static_cast<float>(scalar.value));
        append_bytes(summary, 1, value);
    }
    std::string event = event_at(step);
    append_bytes(event, 5, summary);
    write_record(event);
}

void EventFile::write_record(std::string_view event) {
    std::string length;
    append(length, static_cast<std::uint64_t>(event.size()));
    std::string record = length;
    append(record, masked_crc32c(length));
    record += event;
    append(record, masked_crc32c(event));
    if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() ||
        std::fflush(file_.get()) != 0)
        throw Error(ExitCode::kResource, path_ + ": cannot be written: " + std::strerror(errno));
}

}  // namespace mpt
