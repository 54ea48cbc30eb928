#include "reports/profile_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/record_json.hpp"

namespace parity {

namespace {

using ProfileJson = nlohmann::ordered_json;

/// JSON has no NaN and no infinity.
ProfileJson number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

ProfileJson argument_json(const MeasuredArgument& argument, bool quotient) {
  ProfileJson json = {{"a", number_json(argument.a)}, {"a_hex", fmt::format("{:a}", argument.a)}};
  if (quotient) {
    json["b"] = number_json(argument.b);
    json["b_hex"] = fmt::format("{:a}", argument.b);
  }
  json["got"] = number_json(argument.got);
  json["want"] = number_json(argument.want);
  json["ulp"] = number_json(argument.ulp);
  json["promised_ulp"] = number_json(argument.limit);
  return json;
}

ProfileJson class_json(const MeasuredClass& c, bool quotient) {
  ProfileJson json = {{"arguments", c.arguments},
                      {"kept", c.kept},
                      {"flushed", c.flushed},
                      {"undefined", c.undefined},
                      {"wrong", c.wrong}};
  if (c.wrong > 0) json["first_wrong"] = argument_json(c.first_wrong, quotient);
  return json;
}

ProfileJson measure_json(const FunctionMeasure& m) {
  const bool quotient = m.function == DeviceFunction::div;
  ProfileJson json = {{"function", name_of(m.function)},
                      {"format", name_of(m.format)},
                      {"set", m.arguments_text},
                      {"exhaustive", m.exhaustive},
                      {"arguments", m.arguments},
                      {"regular", m.regular},
                      {"max_ulp", number_json(m.worst.ulp)},
                      {"max_over_promise", number_json(m.max_ratio)},
                      {"not_nearest", m.not_rounded},
                      {"not_a_number", m.not_a_number},
                      {"worst", argument_json(m.worst, quotient)}};
  ProfileJson& binades = json["binades"] = ProfileJson::array();
  for (const BinadeError& b : m.binades)
    binades.push_back(ProfileJson::array(
        {b.negative ? "-" : "+", b.exponent, number_json(b.max_ulp), number_json(b.max_absolute)}));
  json["subnormal_arguments"] = class_json(m.subnormal_arguments, quotient);
  json["subnormal_results"] = class_json(m.subnormal_results, quotient);
  json["nan_and_inf"] = class_json(m.specials, quotient);
  json["vulkan"] = vulkan_promise(m.function, m.format).text;
  json["cuda"] = cuda_promise(m.function, m.format).text;
  json["promised"] = m.promise.given ? m.promise.text : "";
  json["may_flush"] = m.may_flush;
  json["breaks"] = m.breaks;
  if (m.breaks > 0) json["worst_break"] = argument_json(m.worst_break, quotient);
  json["by_mpfr"] = m.by_mpfr;
  json["finding"] = finding_of(m);
  return json;
}

/// Reads fields, and remembers the first that is not there or of another kind.
class ProfileReader {
 public:
  template <class T>
  T get(const ProfileJson& object, const char* name) {
    const auto found = object.find(name);
    if (found != object.end()) {
      if constexpr (std::is_same_v<T, double>) {
        if (found->is_string()) return found->get<std::string>() == "inf" ? HUGE_VAL : std::nan("");
        if (found->is_number()) return found->get<double>();
      } else if constexpr (std::is_same_v<T, bool>) {
        if (found->is_boolean()) return found->get<bool>();
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        if (found->is_number_integer()) return found->get<std::int64_t>();
      } else {
        if (found->is_string()) return found->get<std::string>();
      }
    }
    refuse(fmt::format("field '{}' is missing or of another kind", name));
    return T{};
  }
  const ProfileJson& array(const ProfileJson& object, const char* name) {
    static const ProfileJson none = ProfileJson::array();
    const auto found = object.find(name);
    if (found != object.end() && found->is_array()) return *found;
    refuse(fmt::format("field '{}' must be a list", name));
    return none;
  }
  void refuse(std::string why) {
    if (error.empty()) error = std::move(why);
  }
  std::string error;
};

MeasuredClass read_class(ProfileReader& reader, const ProfileJson& json, const char* name) {
  MeasuredClass c;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object()) {
    reader.refuse(fmt::format("field '{}' must be an object", name));
    return c;
  }
  c.arguments = reader.get<std::int64_t>(*found, "arguments");
  c.kept = reader.get<std::int64_t>(*found, "kept");
  c.flushed = reader.get<std::int64_t>(*found, "flushed");
  c.undefined = reader.get<std::int64_t>(*found, "undefined");
  c.wrong = reader.get<std::int64_t>(*found, "wrong");
  return c;
}

FunctionMeasure read_measure(ProfileReader& reader, const ProfileJson& json) {
  FunctionMeasure m;
  const std::string name = reader.get<std::string>(json, "function");
  if (const auto function = parse_device_function(name))
    m.function = *function;
  else
    reader.refuse(fmt::format("no function is called '{}'", name));
  const std::string format = reader.get<std::string>(json, "format");
  if (const auto dtype = parse_dtype(format))
    m.format = *dtype;
  else
    reader.refuse(fmt::format("no format is called '{}'", format));
  m.arguments_text = reader.get<std::string>(json, "set");
  m.exhaustive = reader.get<bool>(json, "exhaustive");
  m.arguments = reader.get<std::int64_t>(json, "arguments");
  m.regular = reader.get<std::int64_t>(json, "regular");
  m.worst.ulp = reader.get<double>(json, "max_ulp");
  m.not_rounded = reader.get<std::int64_t>(json, "not_nearest");
  m.not_a_number = reader.get<std::int64_t>(json, "not_a_number");
  m.may_flush = reader.get<bool>(json, "may_flush");
  m.breaks = reader.get<std::int64_t>(json, "breaks");
  for (const ProfileJson& b : reader.array(json, "binades")) {
    if (!b.is_array() || b.size() != 4 || !b[0].is_string() || !b[1].is_number_integer()) {
      reader.refuse("a binade must be [sign, exponent, ULP, absolute error]");
      break;
    }
    const auto number = [](const ProfileJson& n) { return n.is_number() ? n.get<double>() : HUGE_VAL; };
    m.binades.push_back({b[1].get<int>(), b[0].get<std::string>() == "-", number(b[2]), number(b[3])});
  }
  m.subnormal_arguments = read_class(reader, json, "subnormal_arguments");
  m.subnormal_results = read_class(reader, json, "subnormal_results");
  m.specials = read_class(reader, json, "nan_and_inf");
  return m;
}

}  // namespace

std::string profile_json(const DeviceProfile& profile, const Provenance& from, int indent) {
  ProfileJson json = {{"schema", profile_schema}, {"kind", "device_profile"}};
  json["device"] = ProfileJson::parse(device_to_json(profile.device));
  json["provenance"] = {{"commit", from.commit},
                        {"version", from.version},
                        {"flags", from.flags},
                        {"compiler", from.compiler},
                        {"started", from.started}};
  json["findings"] = profile.findings();
  ProfileJson& answers = json["answers"] = ProfileJson::array();
  for (const ProfileAnswer& a : profile.answers)
    answers.push_back({{"format", a.format},
                       {"group", a.group},
                       {"question", a.question},
                       {"answer", a.answer},
                       {"promised", a.promise},
                       {"finding", a.finding}});
  ProfileJson& functions = json["functions"] = ProfileJson::array();
  for (const FunctionMeasure& m : profile.functions) functions.push_back(measure_json(m));
  ProfileJson& absent = json["absent"] = ProfileJson::array();
  for (const AbsentFunction& a : profile.absent)
    absent.push_back(
        {{"function", name_of(a.function)}, {"format", name_of(a.format)}, {"reason", a.reason}});
  json["notes"] = profile.notes;
  return json.dump(indent, ' ', false, ProfileJson::error_handler_t::replace) + "\n";
}

Result<DeviceProfile> parse_profile_json(std::string_view text) {
  const ProfileJson json = ProfileJson::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return bad_input("a device profile must be a JSON object");
  ProfileReader reader;
  if (const std::string kind = reader.get<std::string>(json, "kind"); kind != "device_profile")
    return bad_input(fmt::format("field 'kind' is '{}'; a device profile has 'device_profile'", kind));
  if (const auto schema = reader.get<std::int64_t>(json, "schema"); schema != profile_schema)
    return bad_input(fmt::format("the profile has schema {}; this program reads {}", schema, profile_schema));
  DeviceProfile profile;
  const auto device = json.find("device");
  if (device == json.end() || !device->is_object()) return bad_input("field 'device' must be an object");
  profile.device.id = reader.get<std::string>(*device, "id");
  profile.device.backend = reader.get<std::string>(*device, "backend");
  profile.device.name = reader.get<std::string>(*device, "name");
  profile.device.driver = reader.get<std::string>(*device, "driver");
  profile.device.api = reader.get<std::string>(*device, "api");
  for (const ProfileJson& a : reader.array(json, "answers"))
    profile.answers.push_back({reader.get<std::string>(a, "format"), reader.get<std::string>(a, "group"),
                               reader.get<std::string>(a, "question"), reader.get<std::string>(a, "answer"),
                               reader.get<std::string>(a, "promised"),
                               reader.get<std::string>(a, "finding")});
  for (const ProfileJson& m : reader.array(json, "functions"))
    profile.functions.push_back(read_measure(reader, m));
  if (!reader.error.empty()) return bad_input(fmt::format("device profile: {}", reader.error));
  return profile;
}

}  // namespace parity
