#include "reports/run_marks.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace parity {
namespace {

using Json = nlohmann::ordered_json;

// Records begin with their schema: the first key tells the kinds of line apart.
constexpr std::string_view plan_begins = R"({"plan":)";
constexpr std::string_view end_begins = R"({"end":)";

constexpr std::int64_t most_shards = 1000000;

std::string line_of(const char* name, const Json& fields) {
  return Json{{name, fields}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> fields_of(std::string_view line, const char* name) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return bad_input("this is not a complete line of JSON");
  if (!json.is_object() || !json.contains(name) || !json[name].is_object())
    return bad_input(fmt::format("the field '{}' should be an object", name));
  return json[name];
}

std::string text_in(const Json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<std::int64_t> count_in(const Json& fields, const char* name) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most)
    return bad_input(fmt::format("the field '{}' should be a number of records", name));
  return found->get<std::int64_t>();
}

}  // namespace

std::string to_json_line(const RunMark& mark) {
  Json fields{{"cases", mark.cases},     {"suite", mark.suite},    {"filter", mark.filter},
              {"path", mark.path},       {"plan", mark.plan},      {"commit", mark.commit},
              {"version", mark.version}, {"started", mark.started}};
  if (!mark.settings.empty()) fields["settings"] = mark.settings;
  if (!mark.devices.empty()) fields["devices"] = mark.devices;
  if (mark.resumes) fields["resumes"] = true;
  if (mark.shards != 0) {
    fields["shard"] = mark.shard;
    fields["shards"] = mark.shards;
    if (!mark.division.empty()) fields["division"] = mark.division;
  }
  return line_of("plan", fields);
}

std::string identity_of(const RunMark& mark) {
  if (mark.plan.empty()) return {};
  std::string text = fmt::format("{} {}", mark.plan, fmt::join(mark.devices, "; "));
  if (mark.shards != 0) text += fmt::format(" {}/{} {}", mark.shard, mark.shards, mark.division);
  return text;
}

std::string to_json_line(const EndMark& mark) {
  return line_of("end",
                 {{"outcome", mark.complete ? "complete" : "interrupted"}, {"recorded", mark.recorded}});
}

bool is_run_mark(std::string_view line) {
  return line.starts_with(plan_begins);
}

bool is_end_mark(std::string_view line) {
  return line.starts_with(end_begins);
}

Result<RunMark> parse_run_mark(std::string_view line) {
  const auto fields = fields_of(line, "plan");
  if (!fields) return tl::unexpected(fields.error());
  const auto cases = count_in(*fields, "cases");
  if (!cases) return tl::unexpected(cases.error());
  RunMark mark;
  mark.cases = *cases;
  mark.suite = text_in(*fields, "suite");
  mark.filter = text_in(*fields, "filter");
  mark.path = text_in(*fields, "path");
  mark.plan = text_in(*fields, "plan");  // empty in older logs: like no other
  mark.commit = text_in(*fields, "commit");
  mark.version = text_in(*fields, "version");
  mark.started = text_in(*fields, "started");
  mark.settings = text_in(*fields, "settings");
  if (const auto devices = fields->find("devices"); devices != fields->end() && devices->is_array())
    for (const Json& device : *devices)
      if (device.is_string()) mark.devices.push_back(device.get<std::string>());
  const auto resumes = fields->find("resumes");
  mark.resumes = resumes != fields->end() && *resumes == true;
  if (fields->contains("shards")) {
    const auto shard = count_in(*fields, "shard"), shards = count_in(*fields, "shards");
    if (!shard) return tl::unexpected(shard.error());
    if (!shards) return tl::unexpected(shards.error());
    if (*shard < 1 || *shard > *shards || *shards > most_shards)
      return bad_input("the field 'shard' should be from 1 to 'shards'");
    mark.shard = *shard;
    mark.shards = *shards;
    mark.division = text_in(*fields, "division");
  }
  return mark;
}

Result<EndMark> parse_end_mark(std::string_view line) {
  const auto fields = fields_of(line, "end");
  if (!fields) return tl::unexpected(fields.error());
  const auto recorded = count_in(*fields, "recorded");
  if (!recorded) return tl::unexpected(recorded.error());
  const std::string outcome = text_in(*fields, "outcome");
  if (outcome != "complete" && outcome != "interrupted")
    return bad_input("the field 'outcome' should be \"complete\" or \"interrupted\"");
  return EndMark{outcome == "complete", *recorded};
}

}  // namespace parity
