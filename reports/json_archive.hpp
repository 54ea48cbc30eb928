#pragma once
#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/record_fields.hpp"

// The two archives that record_fields() is called with: a structure to JSON and back. Private to the files
// that read and write one: a heavy header.
namespace parity {

using ArchiveJson = nlohmann::ordered_json;

inline std::string dump_json(const ArchiveJson& json) {
  return json.dump(-1, ' ', false, ArchiveJson::error_handler_t::replace);
}

/// Writes fields into a JSON object.
class JsonWriter {
 public:
  explicit JsonWriter(ArchiveJson& object) : object_(object) { object_ = ArchiveJson::object(); }

  template <class T>
  void operator()(const char* name, const T& value) {
    object_[name] = encode(value);
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) object_[name] = encode(*value);
  }
  void bits(const char* name, std::uint64_t value) { object_[name] = fmt::format("{:#x}", value); }
  void sparse_bits(const char* name, std::uint64_t value) {
    if (value != 0) bits(name, value);
  }
  template <class T>
  void sparse(const char* name, const T& value, const T& usual = {}) {
    if constexpr (requires { value.empty(); }) {
      if (!value.empty()) (*this)(name, value);
    } else {
      if (value != usual) (*this)(name, value);
    }
  }

 private:
  static ArchiveJson encode(bool value) { return value; }
  static ArchiveJson encode(int value) { return value; }
  static ArchiveJson encode(std::int64_t value) { return value; }
  static ArchiveJson encode(const std::string& value) { return value; }
  static ArchiveJson encode(const std::map<std::string, std::string>& value) { return value; }
  static ArchiveJson encode(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  template <class T>
  static ArchiveJson encode(const std::vector<T>& values) {
    ArchiveJson array = ArchiveJson::array();
    for (const T& value : values) array.push_back(encode(value));
    return array;
  }
  template <class T, std::size_t N>
  static ArchiveJson encode(const std::array<T, N>& values) {
    ArchiveJson array = ArchiveJson::array();
    for (const T& value : values) array.push_back(encode(value));
    return array;
  }
  template <class T>
  static ArchiveJson encode(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(enum_name(value));
    } else {
      ArchiveJson object;
      JsonWriter writer(object);
      record_fields(writer, value);
      return object;
    }
  }

  ArchiveJson& object_;
};

/// Reads fields from a JSON object; keeps the first error.
class JsonReader {
 public:
  JsonReader(const ArchiveJson& object, std::string where, std::string& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (!object_.is_object()) complain(where_, "an object", object_);
  }

  template <class T>
  void operator()(const char* name, T& value) {
    if (!error_.empty()) return;
    const auto found = object_.find(name);
    if (found == object_.end()) {
      error_ = fmt::format("the field '{}' is missing", path(name));
      return;
    }
    decode(*found, path(name), value);
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value) {
    value.reset();
    if (!error_.empty()) return;
    const auto found = object_.find(name);
    if (found != object_.end()) decode(*found, path(name), value.emplace());
  }
  template <class T>
  void sparse(const char* name, T& value, const T& usual = {}) {
    if (object_.is_object() && object_.contains(name))
      (*this)(name, value);
    else
      value = usual;
  }
  void sparse_bits(const char* name, std::uint64_t& value) {
    value = 0;
    if (object_.is_object() && object_.contains(name)) bits(name, value);
  }
  void bits(const char* name, std::uint64_t& value) {
    std::string text;
    (*this)(name, text);
    if (!error_.empty()) return;
    char* end = nullptr;
    errno = 0;
    value = std::strtoull(text.c_str(), &end, 16);
    if (!text.starts_with("0x") || *end != '\0' || errno != 0)
      error_ = fmt::format("the field '{}' is \"{}\" and should be a hexadecimal number", path(name), text);
  }

 private:
  std::string path(const char* name) const { return where_.empty() ? name : where_ + "." + name; }
  void complain(const std::string& what, const char* need, const ArchiveJson& have) {
    std::string text = dump_json(have);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    const std::string place = what.empty() ? "the line" : fmt::format("the field '{}'", what);
    if (error_.empty()) error_ = fmt::format("{} is {} and should be {}", place, text, need);
  }

  void decode(const ArchiveJson& json, const std::string& what, bool& value) {
    if (!json.is_boolean()) return complain(what, "true or false", json);
    value = json.get<bool>();
  }
  void decode(const ArchiveJson& json, const std::string& what, std::int64_t& value) {
    const bool too_large =
        json.is_number_unsigned() &&
        json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!json.is_number_integer() || too_large) return complain(what, "a 64-bit integer", json);
    value = json.get<std::int64_t>();
  }
  void decode(const ArchiveJson& json, const std::string& what, int& value) {
    std::int64_t wide = 0;
    decode(json, what, wide);
    if (wide != static_cast<int>(wide)) return complain(what, "a 32-bit integer", json);
    value = static_cast<int>(wide);
  }
  void decode(const ArchiveJson& json, const std::string& what, double& value) {
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (json == "inf" || json == "-inf") {
      value = json == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else {
      complain(what, R"(a number, "nan", "inf" or "-inf")", json);
    }
  }
  void decode(const ArchiveJson& json, const std::string& what, std::string& value) {
    if (!json.is_string()) return complain(what, "a text", json);
    value = json.get<std::string>();
  }
  void decode(const ArchiveJson& json, const std::string& what, std::map<std::string, std::string>& value) {
    if (!json.is_object()) return complain(what, "an object", json);
    value.clear();
    for (const auto& [key, item] : json.items()) decode(item, what + "." + key, value[key]);
  }
  template <class T>
  void decode(const ArchiveJson& json, const std::string& what, std::vector<T>& values) {
    if (!json.is_array()) return complain(what, "an array", json);
    values.assign(json.size(), T{});
    for (std::size_t i = 0; i < values.size(); ++i)
      decode(json[i], fmt::format("{}[{}]", what, i), values[i]);
  }
  template <class T, std::size_t N>
  void decode(const ArchiveJson& json, const std::string& what, std::array<T, N>& values) {
    if (!json.is_array() || json.size() != N)
      return complain(what, fmt::format("an array of {}", N).c_str(), json);
    for (std::size_t i = 0; i < N; ++i) decode(json[i], fmt::format("{}[{}]", what, i), values[i]);
  }
  template <class T>
  void decode(const ArchiveJson& json, const std::string& what, T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::string text;
      decode(json, what, text);
      if (error_.empty() && !parse_enum(text, value)) complain(what, "one of the names it may have", json);
    } else {
      JsonReader reader(json, what, error_);
      record_fields(reader, value);
    }
  }

  const ArchiveJson& object_;
  std::string where_;
  std::string& error_;
};

}  // namespace parity
