#include "reports/history/history_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace parity {
namespace {

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : text;
}

/// What is not the same in two runs, beside their dates.
std::string difference_text(const HistoryRun& before, const HistoryRun& after) {
  std::string text;
  const auto compare = [&](const char* what, const std::string& was, const std::string& is) {
    if (was != is)
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", what, or_none(was), or_none(is));
  };
  compare("commit", before.commit, after.commit);
  compare("driver", before.driver, after.driver);
  compare("version", before.version, after.version);
  compare("device", before.id, after.id);
  if (before.flags != after.flags) text += fmt::format("{}other flags", text.empty() ? "" : ", ");
  if (!text.empty()) return text;
  return fmt::format("commit {} and driver {} as before", or_none(after.commit), or_none(after.driver));
}

/// Changes that came with one other; those that nothing came with, run by run.
auto moment_of(std::span<const HistoryRun> runs, const HistoryChange& change) {
  const HistoryRun &a = runs[change.before], &b = runs[change.after];
  const bool alike = a.commit == b.commit && a.driver == b.driver;
  return std::tuple(b.backend, b.device, a.commit, b.commit, a.driver, b.driver,
                    alike ? change.after : std::size_t{0});
}

/// One row of the table: changes of one figure on one path, the largest first.
struct ChangeRow {
  const HistoryChange* largest = nullptr;
  std::int64_t cases = 0;
};

std::vector<ChangeRow> rows_of(const std::vector<const HistoryChange*>& changes, bool each_case) {
  std::vector<ChangeRow> rows;
  for (const HistoryChange* change : changes) {
    const auto alike = [&](const ChangeRow& row) {
      const HistoryChange& other = *row.largest;
      return other.kind == change->kind && other.figure == change->figure && other.path == change->path &&
             (change->kind != HistoryChange::Kind::verdict ||
              (other.was == change->was && other.is == change->is));
    };
    const auto found = each_case ? rows.end() : std::ranges::find_if(rows, alike);
    if (found == rows.end()) {
      rows.push_back({change, 1});
      continue;
    }
    // Outputs of a case stand together.
    found->cases += found->largest->case_text != change->case_text ? 1 : 0;
    if (change->size > found->largest->size) found->largest = change;
  }
  return rows;
}

std::string place_text(const HistoryChange& change) {
  if (change.case_text.empty()) return "";
  return change.tensor.empty() ? change.case_text : fmt::format("{} -> {}", change.case_text, change.tensor);
}

}  // namespace

std::string moment_text(const HistoryRun& before, const HistoryRun& after) {
  return fmt::format("{}: {} {}: {}", after.started, after.backend, after.device,
                     difference_text(before, after));
}

std::string history_text(std::span<const HistoryRun> runs, std::span<const HistoryChange> changes,
                         bool each_case) {
  using Moment = decltype(moment_of(runs, changes.front()));
  std::vector<std::pair<Moment, std::vector<const HistoryChange*>>> moments;
  for (const HistoryChange& change : changes) {
    Moment moment = moment_of(runs, change);
    auto found =
        std::ranges::find(moments, moment, &std::pair<Moment, std::vector<const HistoryChange*>>::first);
    if (found == moments.end()) {
      moments.push_back({std::move(moment), {}});
      found = std::prev(moments.end());
    }
    found->second.push_back(&change);
  }
  std::string text;
  for (const auto& [moment, together] : moments) {
    text += moment_text(runs[together.front()->before], runs[together.front()->after]) + "\n";
    const std::vector<ChangeRow> rows = rows_of(together, each_case);
    std::size_t figure = 4, was = 3, is = 2, path = 4;
    for (const ChangeRow& row : rows) {
      figure = std::max(figure, row.largest->figure.size());
      was = std::max(was, row.largest->was.size());
      is = std::max(is, row.largest->is.size());
      path = std::max(path, row.largest->path.size());
    }
    text += fmt::format("  {:{}}  {:>{}}  {:>{}}  {:>5}  {:{}}  {}\n", "what", figure, "was", was, "is", is,
                        "cases", "path", path, each_case ? "case" : "the case that changed most");
    for (const ChangeRow& row : rows) {
      const HistoryChange& c = *row.largest;
      text +=
          fmt::format("  {:{}}  {:>{}}  {:>{}}  {:>5}  {:{}}  {}\n", c.figure, figure, c.was, was, c.is, is,
                      c.case_text.empty() ? "-" : fmt::format("{}", row.cases), c.path, path, place_text(c));
      text += fmt::format("  {:{}}  {}\n", "", figure, c.why);
    }
    text += "\n";
  }
  return text;
}

std::string history_json(std::span<const HistoryRun> runs, const HistoryChange& change) {
  const auto run = [&](std::size_t number) {
    const HistoryRun& r = runs[number];
    return nlohmann::ordered_json{{"started", r.started}, {"commit", r.commit}, {"driver", r.driver},
                                  {"version", r.version}, {"id", r.id},         {"flags", r.flags}};
  };
  const HistoryRun& after = runs[change.after];
  nlohmann::ordered_json json{{"kind", name_of(change.kind)},
                              {"backend", after.backend},
                              {"device", after.device},
                              {"case", change.case_text},
                              {"path", change.path},
                              {"tensor", change.tensor},
                              {"figure", change.figure},
                              {"was", change.was},
                              {"is", change.is},
                              {"why", change.why},
                              {"before", run(change.before)},
                              {"after", run(change.after)}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace parity
