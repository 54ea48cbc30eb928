#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/tensor/file_io.hpp"
#include "harness/tensor/safetensors.hpp"

namespace parity {
namespace {

using Json = nlohmann::json;
constexpr std::size_t most_safetensors_dimensions = 32;
constexpr std::uint64_t header_limit = 100'000'000;  // the format's own

/// Builds the entries while the JSON is being read; stops at the first thing that has no place in a header,
/// so neither depth nor size of hostile JSON matters.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& name) : name_(name) {}

  std::vector<SafetensorsEntry> entries;
  std::string error;  ///< why reading stopped

  bool null() override { return misplaced("null"); }
  bool boolean(bool) override { return misplaced("a truth value"); }
  bool binary(Json::binary_t&) override { return misplaced("binary data"); }

  bool number_float(Json::number_float_t, const std::string& text) override {
    if (in_ == Where::shape || in_ == Where::offsets) {
      return refuse(fmt::format("{} '{}' of '{}', which is no integer below 2^64", field(),
                                printable(text, 40), shown()));
    }
    return misplaced("a number");
  }
  bool number_integer(Json::number_integer_t number) override {
    if (in_ == Where::shape || in_ == Where::offsets) {
      return refuse(fmt::format("the negative {} {} of '{}'", field(), number, shown()));
    }
    return misplaced("a number");
  }
  bool number_unsigned(Json::number_unsigned_t number) override {
    if (in_ == Where::shape) {
      if (entry_.shape.size() == most_safetensors_dimensions) {
        return refuse(fmt::format("more than {} dimensions for '{}'", most_safetensors_dimensions, shown()));
      }
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return refuse(fmt::format("the dimension {} of '{}', which does not fit", number, shown()));
      }
      entry_.shape.push_back(static_cast<std::int64_t>(number));
      return true;
    }
    if (in_ == Where::offsets) {
      if (offsets_ == 2) return refuse(fmt::format("more than two data_offsets for '{}'", shown()));
      (offsets_++ == 0 ? entry_.begin : entry_.end) = number;
      return true;
    }
    return misplaced("a number");
  }
  bool string(std::string& text) override {
    if (in_ == Where::metadata) return true;
    if (in_ != Where::entry || key_ != "dtype") return misplaced("text");
    entry_.dtype = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override {
    if (in_ == Where::outside) {
      in_ = Where::top;
      return true;
    }
    if (in_ != Where::top) return misplaced("an object");
    in_ = key_ == "__metadata__" ? Where::metadata : Where::entry;
    entry_ = SafetensorsEntry{};
    entry_.name = key_;
    offsets_ = 0;
    fields_.clear();
    return true;
  }
  bool key(std::string& text) override {
    if (in_ == Where::top && !names_.insert(text).second) {
      return refuse(fmt::format("the name '{}' twice", printable(text)));
    }
    if (in_ == Where::entry) {
      if (text != "dtype" && text != "shape" && text != "data_offsets") {
        return refuse(fmt::format("the unknown field '{}' for '{}'", printable(text), shown()));
      }
      if (!fields_.insert(text).second) return refuse(fmt::format("'{}' twice for '{}'", text, shown()));
    }
    key_ = std::move(text);
    return true;
  }
  bool end_object() override {
    if (in_ == Where::entry) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(field)) return refuse(fmt::format("no '{}' for '{}'", field, shown()));
      }
      if (offsets_ != 2)
        return refuse(fmt::format("{} data_offsets for '{}' instead of two", offsets_, shown()));
      entries.push_back(std::move(entry_));
    }
    in_ = in_ == Where::top ? Where::outside : Where::top;
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_ != Where::entry || key_ == "dtype") return misplaced("a list");
    in_ = key_ == "shape" ? Where::shape : Where::offsets;
    return true;
  }
  bool end_array() override {
    in_ = Where::entry;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const Json::exception&) override {
    error = fmt::format("{}: the header is no valid JSON near byte {}: \"{}\"", name_, position,
                        printable(token, 40));
    return false;
  }

 private:
  enum class Where { outside, top, metadata, entry, shape, offsets };

  bool refuse(const std::string& what) {
    error = fmt::format("{}: the .safetensors header has {}", name_, what);
    return false;
  }
  bool misplaced(const char* what) {
    switch (in_) {
      case Where::outside:
        return refuse(fmt::format("{} where an object with all tensors is due", what));
      case Where::top:
        return refuse(fmt::format("{} as the value of '{}' instead of an object", what, printable(key_)));
      case Where::metadata:
        return refuse(fmt::format("{} inside '__metadata__', which holds text only", what));
      default:
        return refuse(fmt::format("{} as, or inside, '{}' of '{}'", what, printable(key_), shown()));
    }
  }
  const char* field() const { return in_ == Where::shape ? "dimension" : "data offset"; }
  std::string shown() const { return printable(entry_.name); }

  const std::string& name_;
  Where in_ = Where::outside;
  std::string key_;
  SafetensorsEntry entry_;
  int offsets_ = 0;
  std::set<std::string> fields_;
  std::set<std::string> names_;
};

/// size = product(shape) * size(dtype), where the dtype's size is known.
Result<void> check_size(const SafetensorsEntry& entry, const std::string& name) {
  const auto count = element_count(entry.shape);
  if (!count) {
    return bad_input(fmt::format("{}: tensor '{}': {}", name, printable(entry.name), count.error().message));
  }
  const auto bits = safetensors_bits(entry.dtype);
  if (!bits) return {};
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(*count), *bits, &total) || total % 8 != 0 ||
      total / 8 != entry.end - entry.begin) {
    return bad_input(
        fmt::format("{}: tensor '{}' of {} and shape {} needs {} elements of {} bits, but its data_offsets "
                    "[{}, {}] span {} bytes",
                    name, printable(entry.name), printable(entry.dtype), to_string(entry.shape), *count,
                    *bits, entry.begin, entry.end, entry.end - entry.begin));
  }
  return {};
}

/// The entries, sorted by offset, must tile [0, data_size).
Result<void> check_tiling(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_size,
                          const std::string& name) {
  std::uint64_t reached = 0;
  const SafetensorsEntry* before = nullptr;
  for (const SafetensorsEntry& entry : entries) {
    const std::string shown = printable(entry.name);
    if (entry.begin > entry.end) {
      return bad_input(fmt::format("{}: tensor '{}' has data_offsets [{}, {}], which run backwards", name,
                                   shown, entry.begin, entry.end));
    }
    if (entry.end > data_size) {
      return bad_input(
          fmt::format("{}: tensor '{}' ends at data byte {}, but only {} bytes follow the header; is the "
                      "file truncated?",
                      name, shown, entry.end, data_size));
    }
    if (entry.begin < reached) {
      return bad_input(
          fmt::format("{}: tensors '{}' and '{}' overlap: one ends at data byte {}, the other begins at {}",
                      name, printable(before->name), shown, reached, entry.begin));
    }
    if (entry.begin > reached) {
      return bad_input(fmt::format("{}: no tensor covers the data bytes {} to {}, before tensor '{}'", name,
                                   reached, entry.begin, shown));
    }
    reached = entry.end;
    before = &entry;
  }
  if (reached != data_size) {
    return bad_input(fmt::format("{}: {} bytes follow the last tensor; the file should end there", name,
                                 data_size - reached));
  }
  return {};
}

}  // namespace

std::optional<std::uint64_t> safetensors_bits(std::string_view dtype) {
  static constexpr std::pair<std::string_view, std::uint64_t> sizes[] = {
      {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
      {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
      {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
  };
  for (const auto& [known, bits] : sizes) {
    if (known == dtype) return bits;
  }
  return std::nullopt;
}

Result<std::vector<SafetensorsEntry>> parse_safetensors_json(std::string_view json, std::uint64_t data_size,
                                                             const std::string& name) {
  HeaderReader reader(name);
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) {
    return bad_input(reader.error.empty() ? fmt::format("{}: the header is no valid JSON", name)
                                          : reader.error);
  }
  std::vector<SafetensorsEntry> entries = std::move(reader.entries);
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  if (const auto tiled = check_tiling(entries, data_size, name); !tiled) return tl::unexpected(tiled.error());
  for (const SafetensorsEntry& entry : entries) {
    if (const auto sized = check_size(entry, name); !sized) return tl::unexpected(sized.error());
  }
  return entries;
}

Result<std::uint64_t> parse_safetensors_length(std::span<const std::byte> first_bytes,
                                               std::uint64_t file_size, const std::string& name) {
  std::uint64_t length = 0;
  if (first_bytes.size() < sizeof length) {
    return bad_input(
        fmt::format("{}: {} bytes are too few for a .safetensors file, which starts with an 8-byte length",
                    name, first_bytes.size()));
  }
  std::memcpy(&length, first_bytes.data(), sizeof length);
  if (length > file_size - sizeof length) {
    return bad_input(
        fmt::format("{}: the header claims {} bytes, but only {} follow; is it truncated, or no "
                    ".safetensors file?",
                    name, length, file_size - sizeof length));
  }
  if (length > header_limit) {
    return bad_input(
        fmt::format("{}: the header claims {} bytes; the format's limit is {}", name, length, header_limit));
  }
  return length;
}

Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> bytes,
                                                               const std::string& name) {
  const auto length =
      parse_safetensors_length(bytes.first(std::min<std::size_t>(8, bytes.size())), bytes.size(), name);
  if (!length) return tl::unexpected(length.error());
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + 8, *length);
  return parse_safetensors_json(json, bytes.size() - 8 - *length, name);
}

}  // namespace parity
