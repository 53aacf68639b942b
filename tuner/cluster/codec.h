// Values as bytes and back: numbers little-endian, texts and lists behind their length, structs
// member by member. Both ends are of one version (Join), so nothing says what is what.
// For messages.cpp alone: it is all templates.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/cluster/messages.h"

namespace tune::codec {

static_assert(std::endian::native == std::endian::little, "numbers are sent as they lie in memory");

/// How many members a struct has. A wrong number does not compile, so none is ever forgotten.
template <class Struct>
inline constexpr int members_of = 0;
template <>
inline constexpr int members_of<Metric> = 2;
template <>
inline constexpr int members_of<Metrics> = 3;
template <>
inline constexpr int members_of<ValueRange> = 2;
template <>
inline constexpr int members_of<FileVersion> = 5;
template <>
inline constexpr int members_of<CheckpointFiles> = 4;
template <>
inline constexpr int members_of<PrintedResult> = 5;
template <>
inline constexpr int members_of<PlainMetric> = 2;
template <>
inline constexpr int members_of<PlainWatch> = 9;
template <>
inline constexpr int members_of<PlainReading> = 13;
template <>
inline constexpr int members_of<Preload> = 4;
template <>
inline constexpr int members_of<ProcessSpec> = 8;
template <>
inline constexpr int members_of<Rank> = 6;
template <>
inline constexpr int members_of<protocol::Hello> = 6;
template <>
inline constexpr int members_of<Launched> = 5;
template <>
inline constexpr int members_of<LaunchFailed> = 3;
template <>
inline constexpr int members_of<Greeted> = 2;
template <>
inline constexpr int members_of<Refused> = 2;
template <>
inline constexpr int members_of<Reported> = 11;
template <>
inline constexpr int members_of<CheckpointFound> = 8;
template <>
inline constexpr int members_of<LaunchAdvisory> = 3;
template <>
inline constexpr int members_of<SaveAnswered> = 4;
template <>
inline constexpr int members_of<Faulted> = 2;
template <>
inline constexpr int members_of<RanToEnd> = 1;
template <>
inline constexpr int members_of<Disconnected> = 1;
template <>
inline constexpr int members_of<Exited> = 5;
template <>
inline constexpr int members_of<Lost> = 2;
template <>
inline constexpr int members_of<NodeResources> = 4;
template <>
inline constexpr int members_of<Join> = 5;
template <>
inline constexpr int members_of<Welcome> = 2;
template <>
inline constexpr int members_of<TurnedAway> = 1;
template <>
inline constexpr int members_of<Launch> = 2;
template <>
inline constexpr int members_of<Told> = 2;
template <>
inline constexpr int members_of<Signalled> = 2;
template <>
inline constexpr int members_of<Renewal> = 1;
template <>
inline constexpr int members_of<Renewed> = 1;
template <>
inline constexpr int members_of<KeptLaunch> = 14;
template <>
inline constexpr int members_of<Happened> = 1;
template <>
inline constexpr int members_of<Left> = 1;
template <>
inline constexpr int members_of<Warned> = 1;

/// What an enum may be at most: a larger number would be no value of it.
template <class Enum>
inline constexpr Enum last_of = Enum{std::numeric_limits<std::underlying_type_t<Enum>>::max()};
template <>
inline constexpr auto last_of<LaunchAdvisory::What> = LaunchAdvisory::What::uneven;
template <>
inline constexpr auto last_of<KeptLaunch::Told> = KeptLaunch::Told::stop;
template <>
inline constexpr auto last_of<protocol::Api> = protocol::Api::function_api;
template <>
inline constexpr auto last_of<SavedWhen> = SavedWhen::before_result;

/// References to the members of `value`, in their order.
template <class Struct>
auto members(Struct& value) {
  constexpr int count = members_of<std::remove_const_t<Struct>>;
  if constexpr (std::is_same_v<std::remove_const_t<Struct>, LaunchSpec>) {
    using Base = std::conditional_t<std::is_const_v<Struct>, const ProcessSpec, ProcessSpec>;
    return std::tuple_cat(members(static_cast<Base&>(value)),
                          std::tie(value.plain, value.rank, value.node));
  } else if constexpr (std::is_empty_v<Struct>) {
    return std::tuple<>();
  } else if constexpr (count == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else {
    static_assert(count == 14);
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
}

template <class Number>
concept Plain = std::is_arithmetic_v<Number>;
template <class Enum>
concept Enumerated = std::is_enum_v<Enum>;

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  template <Plain Number>
  void put(Number number) {
    out_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  template <Enumerated Enum>
  void put(Enum value) {
    put(static_cast<std::underlying_type_t<Enum>>(value));
  }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  void put(const std::filesystem::path& path) { put(path.native()); }
  template <class Value>
  void put(const std::optional<Value>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class Value>
  void put(const std::vector<Value>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const Value& value : values) put(value);
  }
  template <class Value>
  void put(const std::map<std::string, Value>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const auto& [name, value] : values) {
      put(name);
      put(value);
    }
  }
  template <class... Kinds>
  void put(const std::variant<Kinds...>& value) {
    put(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& kind) { put(kind); }, value);
  }
  template <class Struct>
  requires std::is_aggregate_v<Struct>
  void put(const Struct& value) {
    std::apply([this](const auto&... each) { (put(each), ...); }, members(value));
  }

 private:
  std::string& out_;
};

/// Throws WireError for what no Encoder has made. Takes no more memory than some multiple of what
/// it reads.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  template <class Value>
  Value take() {
    Value value{};
    get(value);
    return value;
  }
  void end() const {
    if (!bytes_.empty()) throw WireError("a message is longer than what it says");
  }

  template <Plain Number>
  void get(Number& number) {
    const std::string_view raw = next(sizeof(number));
    if constexpr (std::is_same_v<Number, bool>) {
      if (raw[0] != 0 && raw[0] != 1) throw WireError("a flag is neither true nor false");
      number = raw[0] == 1;
    } else {
      std::memcpy(&number, raw.data(), sizeof(number));
    }
  }
  template <Enumerated Enum>
  void get(Enum& value) {
    using Number = std::underlying_type_t<Enum>;
    const Number number = take<Number>();
    if (number < 0 || number > static_cast<Number>(last_of<Enum>)) {
      throw WireError("a message has a value that is not known");
    }
    value = static_cast<Enum>(number);
  }
  void get(std::string& text) { text = next(take<std::uint32_t>()); }
  void get(std::filesystem::path& path) { path = take<std::string>(); }
  template <class Value>
  void get(std::optional<Value>& value) {
    if (take<bool>()) get(value.emplace());
  }
  template <class Value>
  void get(std::vector<Value>& values) {
    // One by one: the number may be a lie, and memory for it is not taken before it is seen.
    for (auto left = take<std::uint32_t>(); left > 0; --left) get(values.emplace_back());
  }
  template <class Value>
  void get(std::map<std::string, Value>& values) {
    for (auto left = take<std::uint32_t>(); left > 0; --left) get(values[take<std::string>()]);
  }
  template <class... Kinds>
  void get(std::variant<Kinds...>& value) {
    get_kind(value, take<std::uint8_t>(), std::index_sequence_for<Kinds...>());
  }
  template <class Struct>
  requires std::is_aggregate_v<Struct>
  void get(Struct& value) {
    std::apply([this](auto&... each) { (get(each), ...); }, members(value));
  }

 private:
  std::string_view next(std::size_t count) {
    if (bytes_.size() < count) throw WireError("a message is shorter than what it says");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  template <class Variant, std::size_t... index>
  void get_kind(Variant& value, std::size_t wanted, std::index_sequence<index...>) {
    const bool is_known =
        ((wanted == index && (get(value.template emplace<index>()), true)) || ...);
    if (!is_known) throw WireError("a message is of a kind that is not known");
  }

  std::string_view bytes_;
};

}  // namespace tune::codec
