// A minimal protobuf encoder and decoder for TensorBoard's Event, and the TFRecord framing with
// masked CRC-32C (slicing by 8).
#include "callbacks/tensorboard_event.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "callbacks/result_text.h"
#include "trainable/values.h"

namespace tune::tensorboard {

namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::size_t crc_bytes = 4;
constexpr std::string_view hparams_plugin = "hparams";
constexpr std::string_view hparams_tags = "_hparams_/";
constexpr std::string_view start_tag = "_hparams_/session_start_info";
constexpr std::string_view end_tag = "_hparams_/session_end_info";

// What follows a field's number in protobuf.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Numbers of fields, by message.
namespace event {
constexpr int wall_time = 1;
constexpr int step = 2;
constexpr int file_version = 3;
constexpr int summary = 5;
constexpr int session_log = 7;
}  // namespace event
namespace session_log {
constexpr int status = 1;
constexpr std::uint64_t start = 1;
}  // namespace session_log
namespace summary {
constexpr int value = 1;
constexpr int value_tag = 1;
constexpr int value_number = 2;
constexpr int value_metadata = 9;
constexpr int metadata_plugin = 1;
constexpr int plugin_name = 1;
constexpr int plugin_content = 2;
}  // namespace summary
namespace hparams {
constexpr int start = 3;
constexpr int start_values = 1;
constexpr int start_time_s = 5;
constexpr int entry_name = 1;
constexpr int entry_value = 2;
constexpr int value_number = 2;
constexpr int value_string = 3;
constexpr int value_bool = 4;
constexpr int end = 4;
constexpr int end_status = 1;
constexpr int end_time_s = 2;
constexpr std::uint64_t success = 1;
constexpr std::uint64_t failure = 2;
}  // namespace hparams

/// Eight tables, so that eight bytes are taken at a time.
constexpr auto crc_tables = [] {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78;
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reversed_polynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < tables.size(); ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = tables[t - 1][i];
      tables[t][i] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

template <class Number>
Number little_endian(std::string_view bytes) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<Number>(byte_at(bytes, i)) << (8 * i);
  }
  return number;
}

template <class Number>
void append_little_endian(std::string& out, Number number) {
  char bytes[sizeof(Number)];
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  out.append(bytes, sizeof bytes);
}

/// Of a file's frames: a checksum over data that has checksums in it would be a poor one.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

void append_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

std::size_t varint_bytes(std::uint64_t number) {
  std::size_t bytes = 1;
  for (; number >= 0x80; number >>= 7) ++bytes;
  return bytes;
}

void append_key(std::string& out, int field, Wire wire) {
  append_varint(out, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

void append_number(std::string& out, int field, std::uint64_t number) {
  append_key(out, field, Wire::varint);
  append_varint(out, number);
}

void append_double(std::string& out, int field, double number) {
  append_key(out, field, Wire::fixed64);
  append_little_endian(out, std::bit_cast<std::uint64_t>(number));
}

void append_float(std::string& out, int field, float number) {
  append_key(out, field, Wire::fixed32);
  append_little_endian(out, std::bit_cast<std::uint32_t>(number));
}

void append_bytes(std::string& out, int field, std::string_view bytes) {
  append_key(out, field, Wire::bytes);
  append_varint(out, bytes.size());
  out += bytes;
}

/// An Event in its frame. `what`: its one field besides these.
void append_event(std::string& out, Seconds time, std::int64_t step, int what,
                  std::string_view content) {
  const std::size_t begin = out.size();
  out.append(record_head_bytes, '\0');
  append_double(out, event::wall_time, time);
  if (step != 0) append_number(out, event::step, static_cast<std::uint64_t>(step));
  append_bytes(out, what, content);
  const std::string_view data = std::string_view(out).substr(begin + record_head_bytes);
  std::string head;  // short enough to be no allocation
  append_little_endian<std::uint64_t>(head, data.size());
  append_little_endian(head, masked_crc(head));
  const std::uint32_t crc = masked_crc(data);
  out.replace(begin, record_head_bytes, head);
  append_little_endian(out, crc);
}

/// A summary whose meaning is all in the metadata.
void append_hparams(std::string& out, Seconds time, std::string_view tag, int field,
                    std::string_view info) {
  std::string data;
  append_bytes(data, field, info);
  std::string plugin;
  append_bytes(plugin, summary::plugin_name, hparams_plugin);
  append_bytes(plugin, summary::plugin_content, data);
  std::string metadata;
  append_bytes(metadata, summary::metadata_plugin, plugin);
  std::string value;
  append_bytes(value, summary::value_tag, tag);
  append_bytes(value, summary::value_metadata, metadata);
  std::string summary;
  append_bytes(summary, summary::value, value);
  append_event(out, time, 0, event::summary, summary);
}

using OrderedJson = nlohmann::ordered_json;

/// Whether a double, as TensorBoard has hyperparameters, is this number.
bool is_exact_double(const OrderedJson& number) {
  constexpr double first_inexact = 0x1p53;  // 2^53 + 1 is this one, too
  return number.is_number_float() || std::abs(number.get<double>()) < first_inexact;
}

void append_hparam(std::string& out, std::string_view name, const OrderedJson& json) {
  std::string value;
  if (json.is_boolean()) {
    append_number(value, hparams::value_bool, json.get<bool>() ? 1 : 0);
  } else if (json.is_number() && is_exact_double(json)) {
    append_double(value, hparams::value_number, json.get<double>());
  } else if (json.is_string()) {
    append_bytes(value, hparams::value_string, json.get_ref<const std::string&>());
  } else {
    append_bytes(value, hparams::value_string,
                 json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
  }
  std::string entry;
  append_bytes(entry, hparams::entry_name, name);
  append_bytes(entry, hparams::entry_value, value);
  append_bytes(out, hparams::start_values, entry);
}

void append_hparams_of(std::string& out, const std::string& prefix, const OrderedJson& config) {
  for (const auto& [key, value] : config.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      append_hparams_of(out, name + '.', value);
    } else if (!value.is_null()) {
      append_hparam(out, name, value);
    }
  }
}

/// A conversion that is defined for all numbers.
float to_float(double value) {
  constexpr double max = std::numeric_limits<float>::max();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (value > max) return infinity;
  if (value < -max) return -infinity;
  return static_cast<float>(value);
}

/// Goes through the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  /// False at the end, and where there is no field.
  bool next() {
    const auto key = take_varint();
    if (!key) return false;
    field = static_cast<int>(*key >> 3);
    switch (static_cast<Wire>(*key & 7)) {
      case Wire::varint: {
        const auto value = take_varint();
        number = value.value_or(0);
        return value.has_value();
      }
      case Wire::fixed64:
        if (!take(sizeof(std::uint64_t))) return false;
        number = little_endian<std::uint64_t>(bytes);
        return true;
      case Wire::fixed32:
        return take(sizeof(std::uint32_t));
      case Wire::bytes: {
        const auto size = take_varint();
        return size && take(*size);
      }
    }
    return false;
  }

  // The one at hand.
  int field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

 private:
  bool take(std::uint64_t size) {
    if (size > rest_.size()) return false;
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::optional<std::uint64_t> take_varint() {
    constexpr int most_bits = 64;
    std::uint64_t value = 0;
    for (int shift = 0; shift < most_bits && !rest_.empty(); shift += 7) {
      const std::uint64_t byte = byte_at(rest_, 0);
      rest_.remove_prefix(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

/// By the tag of its first value.
Kind kind_of_summary(std::string_view message) {
  Fields values(message);
  if (!values.next() || values.field != summary::value) return Kind::other;
  Fields value(values.bytes);
  if (!value.next() || value.field != summary::value_tag) return Kind::other;
  if (value.bytes == end_tag) return Kind::session_end;
  return value.bytes.starts_with(hparams_tags) ? Kind::other : Kind::scalars;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint32_t low = crc ^ little_endian<std::uint32_t>(bytes.substr(at, 4));
    const auto high = little_endian<std::uint32_t>(bytes.substr(at + 4, 4));
    crc = crc_tables[7][low & 0xff] ^ crc_tables[6][(low >> 8) & 0xff] ^
          crc_tables[5][(low >> 16) & 0xff] ^ crc_tables[4][low >> 24] ^
          crc_tables[3][high & 0xff] ^ crc_tables[2][(high >> 8) & 0xff] ^
          crc_tables[1][(high >> 16) & 0xff] ^ crc_tables[0][high >> 24];
  }
  for (; at < bytes.size(); ++at) {
    crc = (crc >> 8) ^ crc_tables[0][(crc ^ byte_at(bytes, at)) & 0xff];
  }
  return ~crc;
}

void append_file_version(std::string& out, Seconds time) {
  append_event(out, time, 0, event::file_version, "brain.Event:2");
}

void append_restart(std::string& out, Seconds time, std::int64_t first_step) {
  std::string log;
  append_number(log, session_log::status, session_log::start);
  append_event(out, time, first_step, event::session_log, log);
}

void append_session_start(std::string& out, Seconds time, const std::string& config) {
  std::string info;
  const auto parsed = OrderedJson::parse(config, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_object()) append_hparams_of(info, "", parsed);
  append_double(info, hparams::start_time_s, time);
  append_hparams(out, time, start_tag, hparams::start, info);
}

void append_session_end(std::string& out, Seconds time, bool has_succeeded) {
  std::string info;
  append_number(info, hparams::end_status, has_succeeded ? hparams::success : hparams::failure);
  append_double(info, hparams::end_time_s, time);
  append_hparams(out, time, end_tag, hparams::end, info);
}

void append_scalars(std::string& out, const Result& result) {
  constexpr std::size_t usual_value_bytes = 32;
  std::string summary;
  summary.reserve(usual_value_bytes * result.metrics.numbers.size());
  for (const auto& [name, number] : result.metrics.numbers) {
    if (is_driver_field(name) || name.starts_with(hparams_tags)) continue;
    append_key(summary, summary::value, Wire::bytes);
    append_varint(summary, 1 + varint_bytes(name.size()) + name.size() + 1 + sizeof(float));
    append_bytes(summary, summary::value_tag, name);
    append_float(summary, summary::value_number, to_float(number));
  }
  if (summary.empty()) return;
  append_event(out, result.timestamp, result.training_iteration, event::summary, summary);
}

std::optional<std::uint64_t> record_size(std::string_view bytes) {
  if (bytes.size() < record_head_bytes) return std::nullopt;
  const auto crc = little_endian<std::uint32_t>(bytes.substr(length_bytes, crc_bytes));
  if (crc != masked_crc(bytes.substr(0, length_bytes))) return std::nullopt;
  const auto length = little_endian<std::uint64_t>(bytes);
  constexpr auto max = std::numeric_limits<std::uint64_t>::max();
  if (length > max - record_head_bytes - crc_bytes) return std::nullopt;
  return record_head_bytes + length + crc_bytes;
}

std::optional<Record> read_record(std::string_view bytes) {
  const auto size = record_size(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view data =
      bytes.substr(record_head_bytes, *size - record_head_bytes - crc_bytes);
  const auto crc = little_endian<std::uint32_t>(bytes.substr(*size - crc_bytes, crc_bytes));
  if (crc != masked_crc(data)) return std::nullopt;
  Record record;
  record.size = *size;
  for (Fields fields(data); fields.next();) {
    if (fields.field == event::wall_time) record.time = std::bit_cast<double>(fields.number);
    if (fields.field == event::step) record.step = static_cast<std::int64_t>(fields.number);
    if (fields.field == event::summary) record.kind = kind_of_summary(fields.bytes);
  }
  return record;
}

}  // namespace tune::tensorboard
