#include "harness/cli/plan_outline.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/fnv1a.hpp"
#include "harness/profile/profiled_device.hpp"
#include "reports/record_json.hpp"

namespace parity::cli {

using Json = nlohmann::ordered_json;

std::string identity_of(const PlanOutline& plan, const std::string& device) {
  Fnv1a hash;
  for (const PlanItem& item : plan.items) {
    const PlanGroup& group = plan.groups[item.group];
    if (!device.empty() && group.device.id != device) continue;
    // Not the device's id: shards may run on equal devices of other numbers.
    for (const std::string& text :
         {group.device.backend, group.device.name, group.device.driver, item.path, item.text})
      hash.add_field(text);
    for (const auto& [port, source] : group.provenance.inputs) hash.add_field(port + "=" + source);
    if (group.provenance.profile != no_profile_text) hash.add_field(group.provenance.profile);
  }
  return fmt::format("{:016x}", hash.value());
}

Record blank_record(const PlanOutline& plan, std::size_t number) {
  const PlanItem& item = plan.items[number];
  const PlanGroup& group = plan.groups[item.group];
  Record blank;
  blank.case_text = item.text;
  blank.stage = item.stage;
  blank.path = item.path;
  blank.rung = item.rung;
  blank.device = group.device;
  blank.provenance = group.provenance;
  blank.repro = fmt::format("parity run --case '{}' --device {} --path {}{}", item.text, group.device.id,
                            item.path, group.repro_suffix);
  return blank;
}

std::string outline_line(const PlanOutline& plan) {
  Json json{{"groups", Json::array()}, {"items", Json::array()}, {"notes", plan.notes}};
  for (const PlanGroup& group : plan.groups) {
    // The fields of device and provenance are named once, with a record's.
    Record shared;
    shared.device = group.device;
    shared.provenance = group.provenance;
    json["groups"].push_back({{"record", Json::parse(to_json_line(shared))}, {"suffix", group.repro_suffix}});
  }
  for (const PlanItem& item : plan.items)
    json["items"].push_back(
        Json::array({item.group, item.stage, item.text, item.path, item.rung, item.flops}));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<PlanOutline> parse_plan_outline(std::string_view line) {
  PlanOutline plan;
  try {
    const Json json = Json::parse(line);
    for (const Json& entry : json.at("groups")) {
      auto shared = parse_record_json(entry.at("record").dump());
      if (!shared) return tl::unexpected(shared.error());
      plan.groups.push_back(
          {std::move(shared->device), std::move(shared->provenance), entry.at("suffix").get<std::string>()});
    }
    for (const Json& entry : json.at("items")) {
      PlanItem item{entry.at(0).get<std::size_t>(), entry.at(1).get<std::string>(),
                    entry.at(2).get<std::string>(), entry.at(3).get<std::string>(),
                    entry.at(4).get<int>(),         entry.at(5).get<double>()};
      if (item.group >= plan.groups.size()) return bad_input("an item of the plan belongs to no group");
      plan.items.push_back(std::move(item));
    }
    plan.notes = json.at("notes").get<std::vector<std::string>>();
  } catch (const Json::exception& error) {
    return bad_input(fmt::format("this is no plan: {}", error.what()));
  }
  return plan;
}

}  // namespace parity::cli
