#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity::cli {

/// What the records of some cases share.
struct PlanGroup {
  DeviceInfo device;
  Provenance provenance;
  std::string repro_suffix;
};

/// One case on one path of one device.
struct PlanItem {
  std::size_t group = 0;
  std::string stage, text, path;  ///< text: the case's
  int rung = 0;
  double flops = 0;
};

/// What a run sets out to do, in order, device by device and case by case; plain data, that a process which
/// has opened the devices hands to one that has not.
struct PlanOutline {
  std::vector<PlanGroup> groups;
  std::vector<PlanItem> items;
  std::vector<std::string> notes;  ///< said before the run

  const DeviceInfo& device_of(const PlanItem& item) const { return groups[item.group].device; }
};

/// The same for two plans that set out to record the same: equal cases, inputs, paths and devices, whatever
/// their numbers. `device`: of the items of this one alone.
std::string identity_of(const PlanOutline& plan, const std::string& device = {});

/// The record of an item before anything is known.
Record blank_record(const PlanOutline& plan, std::size_t item);

/// As one line of JSON, and back.
std::string outline_line(const PlanOutline& plan);
Result<PlanOutline> parse_plan_outline(std::string_view line);

}  // namespace parity::cli
