#include "harness/cli/resume.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

namespace parity::cli {
namespace {

/// Device, path and case: what one record of a run has and no other.
using ItemKey = std::tuple<std::string, std::string, std::string>;

std::map<ItemKey, std::vector<std::size_t>> items_by_key(const PlanOutline& plan) {
  std::map<ItemKey, std::vector<std::size_t>> places;
  for (std::size_t i = plan.items.size(); i-- > 0;) {
    const PlanItem& item = plan.items[i];
    places[{plan.device_of(item).id, item.path, item.text}].push_back(i);
  }
  return places;
}

std::string shard_of(const RunMark& mark) {
  return mark.shards == 0 ? "" : fmt::format("{}/{}", mark.shard, mark.shards);
}

/// "the suite: smoke then, ladder now", for each thing that differs.
std::vector<std::string> differences(const RunMark& was, const RunMark& is) {
  std::vector<std::string> found;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now) {
    const auto shown = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
    if (before != now) found.push_back(fmt::format("{}: {} then, {} now", what, shown(before), shown(now)));
  };
  compare("the suite", was.suite, is.suite);
  compare("the filter", was.filter, is.filter);
  compare("--path", was.path, is.path);
  compare("the options", was.settings, is.settings);
  compare("the program's commit", was.commit, is.commit);
  compare("the program's version", was.version, is.version);
  compare("the devices", fmt::format("{}", fmt::join(was.devices, "; ")),
          fmt::format("{}", fmt::join(is.devices, "; ")));
  compare("--shard", shard_of(was), shard_of(is));
  compare("who runs what (--times)", was.division, is.division);
  if (was.cases != is.cases) found.push_back(fmt::format("the cases: {} then, {} now", was.cases, is.cases));
  return found;
}

}  // namespace

Result<Resumption> resume(LoggedRecords& logged, const RunMark& mark, const PlanOutline& plan,
                          const std::string& directory) {
  // Killed before it had said what it set out to do, let alone done any of it.
  if (logged.runs.empty() && logged.records.empty()) return Resumption{};
  if (logged.runs.empty())
    return bad_input(
        fmt::format("--resume {}: its records do not say what the run set out to do", directory));
  const LoggedRun& run = logged.runs.back();
  std::vector<std::string> differ = differences(run.mark, mark);
  auto places = items_by_key(plan);
  Resumption resumption;
  for (const std::size_t number : run.records) {
    Record& record = logged.records[number];
    const auto place = places.find({record.device.id, record.path, record.case_text});
    if (place == places.end() || place->second.empty()) {
      differ.push_back(fmt::format("'{}' on {} of {} is recorded and not planned", record.case_text,
                                   record.path, record.device.id));
      break;
    }
    resumption.recorded.emplace(place->second.back(), std::move(record));
    place->second.pop_back();
  }
  if (differ.empty() && run.mark.plan != mark.plan)
    differ.emplace_back("the cases are others, though as many, or their inputs or profiles are");
  if (differ.empty()) return resumption;
  return bad_input(fmt::format(
      "--resume {}: this is not the run that was begun there: {}. Give the arguments it was begun with, or "
      "begin another with --out",
      directory, fmt::join(differ, "; ")));
}

}  // namespace parity::cli
