#include "reports/record_json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "reports/record_fields.hpp"

namespace parity {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Writes fields into a JSON object.
class Writer {
 public:
  explicit Writer(Json& object) : object_(object) { object_ = Json::object(); }

  template <class T>
  void operator()(const char* name, const T& value) {
    object_[name] = encode(value);
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) object_[name] = encode(*value);
  }
  void bits(const char* name, std::uint64_t value) { object_[name] = fmt::format("{:#x}", value); }
  template <class T>
  void sparse(const char* name, const T& value, const T& usual = {}) {
    if constexpr (requires { value.empty(); }) {
      if (!value.empty()) (*this)(name, value);
    } else {
      if (value != usual) (*this)(name, value);
    }
  }

 private:
  static Json encode(bool value) { return value; }
  static Json encode(int value) { return value; }
  static Json encode(std::int64_t value) { return value; }
  static Json encode(const std::string& value) { return value; }
  static Json encode(const std::map<std::string, std::string>& value) { return value; }
  static Json encode(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  template <class T>
  static Json encode(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(encode(value));
    return array;
  }
  template <class T, std::size_t N>
  static Json encode(const std::array<T, N>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(encode(value));
    return array;
  }
  template <class T>
  static Json encode(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(enum_name(value));
    } else {
      Json object;
      Writer writer(object);
      record_fields(writer, value);
      return object;
    }
  }

  Json& object_;
};

/// Reads fields from a JSON object; keeps the first error.
class Reader {
 public:
  Reader(const Json& object, std::string where, std::string& error)
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
  void complain(const std::string& what, const char* need, const Json& have) {
    std::string text = dump(have);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    if (error_.empty()) error_ = fmt::format("the field '{}' is {} and should be {}", what, text, need);
  }

  void decode(const Json& json, const std::string& what, bool& value) {
    if (!json.is_boolean()) return complain(what, "true or false", json);
    value = json.get<bool>();
  }
  void decode(const Json& json, const std::string& what, std::int64_t& value) {
    const bool too_large =
        json.is_number_unsigned() &&
        json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!json.is_number_integer() || too_large) return complain(what, "a 64-bit integer", json);
    value = json.get<std::int64_t>();
  }
  void decode(const Json& json, const std::string& what, int& value) {
    std::int64_t wide = 0;
    decode(json, what, wide);
    if (wide != static_cast<int>(wide)) return complain(what, "a 32-bit integer", json);
    value = static_cast<int>(wide);
  }
  void decode(const Json& json, const std::string& what, double& value) {
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
  void decode(const Json& json, const std::string& what, std::string& value) {
    if (!json.is_string()) return complain(what, "a text", json);
    value = json.get<std::string>();
  }
  void decode(const Json& json, const std::string& what, std::map<std::string, std::string>& value) {
    if (!json.is_object()) return complain(what, "an object", json);
    value.clear();
    for (const auto& [key, item] : json.items()) decode(item, what + "." + key, value[key]);
  }
  template <class T>
  void decode(const Json& json, const std::string& what, std::vector<T>& values) {
    if (!json.is_array()) return complain(what, "an array", json);
    values.assign(json.size(), T{});
    for (std::size_t i = 0; i < values.size(); ++i)
      decode(json[i], fmt::format("{}[{}]", what, i), values[i]);
  }
  template <class T, std::size_t N>
  void decode(const Json& json, const std::string& what, std::array<T, N>& values) {
    if (!json.is_array() || json.size() != N)
      return complain(what, fmt::format("an array of {}", N).c_str(), json);
    for (std::size_t i = 0; i < N; ++i) decode(json[i], fmt::format("{}[{}]", what, i), values[i]);
  }
  template <class T>
  void decode(const Json& json, const std::string& what, T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::string text;
      decode(json, what, text);
      if (error_.empty() && !parse_enum(text, value)) complain(what, "one of the names it may have", json);
    } else {
      Reader reader(json, what, error_);
      record_fields(reader, value);
    }
  }

  const Json& object_;
  std::string where_;
  std::string& error_;
};

}  // namespace

std::string to_json_line(const Record& record) {
  Json fields;
  Writer writer(fields);
  writer("schema", record_schema);
  record_fields(writer, record);
  return dump(fields);
}

std::string device_to_json(const DeviceInfo& device) {
  Json fields;
  Writer writer(fields);
  record_fields(writer, device);
  return dump(fields);
}

Result<Record> parse_record_json(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return bad_input("this is not a complete line of JSON");
  std::string error;
  Reader reader(json, {}, error);
  int schema = 0;
  reader("schema", schema);
  if (error.empty() && schema != record_schema)
    return bad_input(
        fmt::format("the record has schema {} and this program reads schema {}", schema, record_schema));
  Record record;
  record_fields(reader, record);
  if (!error.empty()) return bad_input(std::move(error));
  return record;
}

}  // namespace parity
