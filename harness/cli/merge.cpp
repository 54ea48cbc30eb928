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

/// "PLAN/SHARDS": what the shards of one plan have in common however they were run.
std::string plan_of(const RunMark& mark) {
  return fmt::format("{}/{}", mark.plan, mark.shards);
}

/// What makes shards of one plan parts of one run: who runs what, and how each case is run.
std::string run_of(const RunMark& mark) {
  return fmt::format("{} {} {}", plan_of(mark), mark.division, mark.settings);
}

/// The shards of one plan that share it out alike and run their cases alike.
struct Shards {
  std::string plan;
  std::size_t of = 0;
  std::map<std::size_t, std::string> logs;  ///< by number
};

std::map<std::string, Shards> shards_by_run(const std::vector<NamedLog>& logs) {
  std::map<std::string, Shards> runs;
  for (const NamedLog& log : logs)
    for (const LoggedRun& run : log.logged.runs) {
      if (run.mark.shards == 0) continue;
      Shards& shards = runs[run_of(run.mark)];
      shards.plan = plan_of(run.mark);
      shards.of = static_cast<std::size_t>(run.mark.shards);
      shards.logs.emplace(static_cast<std::size_t>(run.mark.shard), log.name);
    }
  return runs;
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
      const auto [place, fresh] = seen.emplace(fmt::format("{} {}", run.mark.shard, run_of(run.mark)), &log);
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
  const std::map<std::string, Shards> runs = shards_by_run(logs);
  for (const auto& run : runs) {
    const Shards& shards = run.second;
    std::vector<std::size_t> missing;
    for (std::size_t number = 1; number <= shards.of; ++number)
      if (!shards.logs.contains(number)) missing.push_back(number);
    if (missing.empty()) continue;
    sentences.push_back(fmt::format("{} {} of {} {} not there (beside {})",
                                    missing.size() == 1 ? "shard" : "shards", fmt::join(missing, ", "),
                                    shards.of, missing.size() == 1 ? "is" : "are",
                                    shards.logs.begin()->second));
    const auto other = std::ranges::find_if(runs, [&](const auto& candidate) {
      return candidate.second.plan == shards.plan && candidate.first != run.first;
    });
    if (other != runs.end())
      sentences.back() +=
          fmt::format("; {} was run otherwise: all shards need the same options, --times among them",
                      other->second.logs.begin()->second);
  }
  return sentences;
}

std::string shared_run(const NamedLog& log) {
  std::string shared;
  for (const LoggedRun& run : log.logged.runs) {
    const RunMark& mark = run.mark;
    if (mark.shards == 0) return {};
    std::string text = fmt::format("{} {}", run_of(mark), mark.commit);
    if (!shared.empty() && shared != text) return {};
    shared = std::move(text);
  }
  return shared;
}

}  // namespace parity::cli
