#include "harness/cli/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace parity::cli {
namespace {

/// Values that the logs have, and a log that has each.
using Values = std::map<std::string, std::string>;

Result<void> check_one(const char* what, const Values& values) {
  if (values.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [value, log] : values)
    parts.push_back(fmt::format("{} ({})", value.empty() ? "none" : value, log));
  return bad_input(
      fmt::format("the records are of different {}: {}; --force-merge takes them together all the same", what,
                  fmt::join(parts, ", ")));
}

/// The shards of one plan that share it out alike.
struct Shards {
  std::string plan;
  std::size_t of = 0;
  std::map<std::size_t, std::string> logs;  ///< by number
};

std::map<std::string, Shards> shards_by_plan(const std::vector<NamedLog>& logs) {
  std::map<std::string, Shards> plans;
  for (const NamedLog& log : logs)
    for (const LoggedRun& run : log.logged.runs) {
      if (run.mark.shards == 0) continue;
      const std::string plan = fmt::format("{}/{}", run.mark.plan, run.mark.shards);
      Shards& shards = plans[plan + " " + run.mark.division];
      shards.plan = plan;
      shards.of = static_cast<std::size_t>(run.mark.shards);
      shards.logs.emplace(static_cast<std::size_t>(run.mark.shard), log.name);
    }
  return plans;
}

}  // namespace

Result<void> check_merge(const std::vector<NamedLog>& logs) {
  Values commits, suites;
  std::map<std::string, const NamedLog*> seen;
  for (const NamedLog& log : logs) {
    for (const Record& record : log.logged.records) commits.emplace(record.provenance.commit, log.name);
    for (const LoggedRun& run : log.logged.runs) {
      suites.emplace(run.mark.suite, log.name);
      if (run.mark.shards == 0) continue;
      const auto [place, fresh] = seen.emplace(
          fmt::format("{} {}/{} {}", run.mark.plan, run.mark.shard, run.mark.shards, run.mark.division),
          &log);
      if (!fresh && place->second != &log)
        return bad_input(fmt::format("shard {}/{} is there twice, in {} and in {}; --force-merge takes both",
                                     run.mark.shard, run.mark.shards, place->second->name, log.name));
    }
  }
  if (auto ok = check_one("commits", commits); !ok) return ok;
  if (auto ok = check_one("suites", suites); !ok) return ok;
  if (const auto missing = missing_shards(logs); !missing.empty())
    return bad_input(missing.front() + "; --force-merge goes on without");
  return {};
}

std::vector<std::string> missing_shards(const std::vector<NamedLog>& logs) {
  std::vector<std::string> sentences;
  const std::map<std::string, Shards> plans = shards_by_plan(logs);
  for (const auto& [key, shards] : plans) {
    std::vector<std::size_t> missing;
    for (std::size_t number = 1; number <= shards.of; ++number)
      if (!shards.logs.contains(number)) missing.push_back(number);
    if (missing.empty()) continue;
    sentences.push_back(fmt::format("{} {} of {} {} not there (beside {})",
                                    missing.size() == 1 ? "shard" : "shards", fmt::join(missing, ", "),
                                    shards.of, missing.size() == 1 ? "is" : "are",
                                    shards.logs.begin()->second));
    const std::string& place = key;
    const Shards& these = shards;
    const auto other = std::ranges::find_if(
        plans, [&](const auto& p) { return p.second.plan == these.plan && p.first != place; });
    if (other != plans.end())
      sentences.back() += fmt::format("; {} shares the plan out otherwise: all shards need the same --times",
                                      other->second.logs.begin()->second);
  }
  return sentences;
}

std::string shared_run(const NamedLog& log) {
  std::string shared;
  for (const LoggedRun& run : log.logged.runs) {
    const RunMark& mark = run.mark;
    if (mark.shards == 0) return {};
    std::string text = fmt::format("{}/{} {} {}", mark.plan, mark.shards, mark.division, mark.commit);
    if (!shared.empty() && shared != text) return {};
    shared = std::move(text);
  }
  return shared;
}

}  // namespace parity::cli
