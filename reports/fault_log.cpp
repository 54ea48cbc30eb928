#include "reports/fault_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace parity {

namespace {

using Json = nlohmann::ordered_json;
constexpr int fault_schema = 1;

Json names_of(const faults::Findings& findings) {
  Json names = Json::array();
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (findings[i]) names.push_back(faults::name_of(static_cast<faults::Check>(i)));
  return names;
}

Json names_of(const std::array<bool, 4>& thresholds) {
  Json names = Json::array();
  for (std::size_t i = 0; i < thresholds.size(); ++i)
    if (thresholds[i]) names.push_back(faults::threshold_names[i]);
  return names;
}

template <class Names, std::size_t N>
std::array<bool, N> flags_of(const Json& json, const Names& names) {
  std::array<bool, N> flags{};
  for (const Json& item : json)
    for (std::size_t i = 0; i < N; ++i)
      if (item.get<std::string>() == names(i)) flags[i] = true;
  return flags;
}

faults::Findings findings_from(const Json& json) {
  return flags_of<decltype([](std::size_t i) { return faults::name_of(static_cast<faults::Check>(i)); }),
                  faults::check_count>(json, {});
}
std::array<bool, 4> thresholds_from(const Json& json) {
  return flags_of<decltype([](std::size_t i) { return faults::threshold_names[i]; }), 4>(json, {});
}

Verdict verdict_from(const Json& json) {
  return parse_verdict(json.get<std::string>()).value_or(Verdict::crash);
}

/// JSON has no infinity; what is beyond every number is far beyond any bound.
double finite(double value) {
  return std::isfinite(value) ? value : 1e300;
}

/// Bytes that are not UTF-8 are replaced.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

FaultRun run_from(const Json& json) {
  FaultRun run;
  run.device = json.at("device");
  run.name = json.at("name");
  run.driver = json.at("driver");
  run.api = json.at("api");
  run.commit = json.at("commit");
  run.started = json.at("started");
  run.order_withheld = json.at("order_withheld");
  run.held_out = json.at("held_out");
  run.seeds = json.at("seeds");
  run.repeats = json.at("repeats");
  return run;
}

FaultEntry entry_from(const Json& json) {
  return {json.at("name"),          json.at("what"),   json.at("rung"),      json.at("planted"),
          json.at("severity_unit"), json.at("absent"), json.at("known_miss")};
}

faults::TrialResult trial_from(const Json& json) {
  faults::TrialResult trial;
  trial.fault = json.at("fault");
  trial.case_text = json.at("case");
  trial.path = json.at("path");
  trial.device = json.at("device");
  trial.rung = json.at("rung");
  trial.nominal = json.at("nominal");
  trial.severity = json.at("severity");
  trial.position = json.at("position");
  trial.seed = json.at("seed");
  trial.outcome =
      faults::parse_outcome(json.at("outcome").get<std::string>()).value_or(faults::Outcome::unhealthy);
  trial.verdict = verdict_from(json.at("verdict"));
  trial.findings = findings_from(json.at("found_by"));
  trial.thresholds = thresholds_from(json.at("thresholds"));
  trial.error = json.at("error");
  trial.reason = json.at("reason");
  return trial;
}

HealthyEntry healthy_from(const Json& json) {
  HealthyEntry entry;
  entry.case_text = json.at("case");
  entry.path = json.at("path");
  entry.rung = json.at("rung");
  entry.tensors = json.at("tensors");
  entry.verdict = verdict_from(json.at("verdict"));
  entry.findings = findings_from(json.at("found_by"));
  entry.thresholds = thresholds_from(json.at("thresholds"));
  entry.reason = json.at("reason");
  return entry;
}

void take_line(const Json& json, std::vector<FaultRun>& runs) {
  const std::string kind = json.at("kind");
  if (kind == "faults") {
    if (json.at("schema").get<int>() > fault_schema)
      throw std::invalid_argument(
          fmt::format("schema {} is newer than this program", json.at("schema").dump()));
    runs.push_back(run_from(json));
    return;
  }
  if (runs.empty()) throw std::invalid_argument("a line before the first run's own");
  FaultRun& run = runs.back();
  if (kind == "fault")
    run.entries.push_back(entry_from(json));
  else if (kind == "trial")
    run.trials.push_back(trial_from(json));
  else if (kind == "healthy")
    run.healthy.push_back(healthy_from(json));
  else if (kind == "faults_end")
    run.complete = true;
  else
    throw std::invalid_argument("an unknown kind of line: " + kind);
}

}  // namespace

std::string begin_line(const FaultRun& run) {
  return line_of(Json{{"kind", "faults"},
                      {"schema", fault_schema},
                      {"device", run.device},
                      {"name", run.name},
                      {"driver", run.driver},
                      {"api", run.api},
                      {"commit", run.commit},
                      {"started", run.started},
                      {"order_withheld", run.order_withheld},
                      {"held_out", run.held_out},
                      {"seeds", run.seeds},
                      {"repeats", run.repeats}});
}

std::string to_json_line(const FaultEntry& entry) {
  return line_of(Json{{"kind", "fault"},
                      {"name", entry.name},
                      {"what", entry.what},
                      {"rung", entry.rung},
                      {"planted", entry.kind},
                      {"severity_unit", entry.severity_unit},
                      {"absent", entry.absent},
                      {"known_miss", entry.known_miss}});
}

std::string to_json_line(const faults::TrialResult& trial) {
  return line_of(Json{{"kind", "trial"},
                      {"fault", trial.fault},
                      {"case", trial.case_text},
                      {"path", trial.path},
                      {"device", trial.device},
                      {"rung", trial.rung},
                      {"nominal", trial.nominal},
                      {"severity", trial.severity},
                      {"position", trial.position},
                      {"seed", trial.seed},
                      {"outcome", faults::name_of(trial.outcome)},
                      {"verdict", name_of(trial.verdict)},
                      {"found_by", names_of(trial.findings)},
                      {"thresholds", names_of(trial.thresholds)},
                      {"error", finite(trial.error)},
                      {"reason", trial.reason}});
}

std::string to_json_line(const HealthyEntry& entry) {
  return line_of(Json{{"kind", "healthy"},
                      {"case", entry.case_text},
                      {"path", entry.path},
                      {"rung", entry.rung},
                      {"tensors", entry.tensors},
                      {"verdict", name_of(entry.verdict)},
                      {"found_by", names_of(entry.findings)},
                      {"thresholds", names_of(entry.thresholds)},
                      {"reason", entry.reason}});
}

std::string end_line() {
  return line_of(Json{{"kind", "faults_end"}});
}

Result<std::vector<FaultRun>> parse_fault_log(std::string_view text, const std::string& name) {
  std::vector<FaultRun> runs;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const bool torn = end == text.size();
    try {
      if (end > 0) take_line(Json::parse(text.substr(0, end)), runs);
    } catch (const std::exception& error) {
      if (torn) break;
      return bad_input(fmt::format("{}:{}: no line of a fault log: {}", name, number, error.what()));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (runs.empty()) return bad_input(fmt::format("{} holds no run of `parity faults`", name));
  return runs;
}

std::vector<FaultRun> joined_runs(std::vector<FaultRun> runs) {
  const auto settings = [](const FaultRun& run) {
    return std::tie(run.device, run.name, run.driver, run.api, run.order_withheld, run.held_out, run.seeds,
                    run.repeats);
  };
  const auto adds_to = [&](const FaultRun& more, const FaultRun& run) {
    return settings(more) == settings(run) &&
           std::ranges::none_of(more.entries, [&](const FaultEntry& entry) {
             return std::ranges::find(run.entries, entry.name, &FaultEntry::name) != run.entries.end();
           });
  };
  const auto move_all = [](auto& from, auto& to) { std::ranges::move(from, std::back_inserter(to)); };
  std::vector<FaultRun> joined;
  for (FaultRun& more : runs) {
    // The latest of several: what was repeated counts.
    const auto run = std::find_if(joined.rbegin(), joined.rend(),
                                  [&](const FaultRun& earlier) { return adds_to(more, earlier); });
    if (run == joined.rend()) {
      joined.push_back(std::move(more));
      continue;
    }
    move_all(more.entries, run->entries);
    move_all(more.trials, run->trials);
    move_all(more.healthy, run->healthy);
    run->complete = run->complete && more.complete;
  }
  return joined;
}

}  // namespace parity
