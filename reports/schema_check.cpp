#include "reports/schema_check.hpp"

#include <fmt/format.h>

#include <fstream>
#include <regex>

namespace parity {
namespace {

using nlohmann::json;

/// One check of a value and everything below it.
class SchemaCheck {
 public:
  explicit SchemaCheck(const json& root) : root_(root) {}

  void check(const json& schema, const json& value, const std::string& where) {
    for (const auto& [keyword, asked] : schema.items())
      if (!keyword_holds(keyword, asked, schema, value, where))
        problems_.push_back(fmt::format("{}: {} does not meet {} {}", where.empty() ? "the record" : where,
                                        value.dump().substr(0, 60), keyword, asked.dump().substr(0, 60)));
  }
  std::vector<std::string> take() { return std::move(problems_); }

 private:
  static bool has_type(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "boolean" && value.is_boolean();
  }

  bool fits(const json& schema, const json& value) const {
    SchemaCheck other(root_);
    other.check(schema, value, "");
    return other.problems_.empty();
  }

  void check_object(const json& properties, const json& others, const json& value, const std::string& where) {
    for (const auto& [name, item] : value.items()) {
      const std::string place = where.empty() ? name : where + "." + name;
      if (properties.contains(name))
        check(properties[name], item, place);
      else if (others.is_object())
        check(others, item, place);
      else if (others == json(false))
        problems_.push_back(place + ": no such field");
    }
  }

  bool keyword_holds(const std::string& keyword, const json& asked, const json& schema, const json& value,
                     const std::string& where) {
    if (keyword == "$schema" || keyword == "title" || keyword == "description" || keyword == "$defs")
      return true;
    if (keyword == "$ref") {
      check(root_.at(json::json_pointer(asked.get<std::string>().substr(1))), value, where);
      return true;
    }
    if (keyword == "type") return has_type(value, asked);
    if (keyword == "const") return value == asked;
    if (keyword == "enum") return std::find(asked.begin(), asked.end(), value) != asked.end();
    if (keyword == "anyOf")
      return std::any_of(asked.begin(), asked.end(), [&](const json& one) { return fits(one, value); });
    if (keyword == "minimum") return !value.is_number() || value >= asked;
    if (keyword == "maximum") return !value.is_number() || value <= asked;
    if (keyword == "minItems") return !value.is_array() || value.size() >= asked;
    if (keyword == "maxItems") return !value.is_array() || value.size() <= asked;
    if (keyword == "pattern")
      return !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex(asked.get<std::string>()));
    if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        check(asked, value[i], fmt::format("{}[{}]", where, i));
      return true;
    }
    if (keyword == "required") {
      for (const json& name : asked)
        if (value.is_object() && !value.contains(name.get<std::string>()))
          problems_.push_back(fmt::format("{}: '{}' is missing", where, name.get<std::string>()));
      return true;
    }
    if (keyword == "properties" || keyword == "additionalProperties") {
      // Both at once, when either comes first.
      if (value.is_object() && (keyword == "properties" || !schema.contains("properties")))
        check_object(schema.value("properties", json::object()),
                     schema.value("additionalProperties", json(true)), value, where);
      return true;
    }
    return false;
  }

  const json& root_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> schema_problems(const json& schema, const json& value) {
  SchemaCheck check(schema);
  check.check(schema, value, "");
  return check.take();
}

json record_json_schema() {
  std::ifstream file(PARITY_RECORD_SCHEMA);
  return json::parse(file, nullptr, false);
}

}  // namespace parity
