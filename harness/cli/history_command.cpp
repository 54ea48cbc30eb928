#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/record_files.hpp"
#include "reports/history/changes.hpp"
#include "reports/history/history_text.hpp"
#include "reports/history/trend.hpp"

namespace parity::cli {
namespace {

struct HistoryRequest {
  std::string database, device, case_text, path, output, statistic, svg;
  std::vector<std::string> files;
  double chance = 1e-6, smallest = 1.1, slower = 1.5;
  bool each_case = false, json = false;
};

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

int add(const HistoryRequest& request) {
  if (!history_is_built_in()) return report(History::open(request.database, History::Mode::add).error());
  // First, so that a wrong file of records leaves no empty history behind.
  auto files = read_record_files(request.files);
  if (!files) return report(files.error());
  if (files->records.empty()) {
    complain("there are no records, so nothing was added");
    return nothing_judged;
  }
  auto history = History::open(request.database, History::Mode::add);
  if (!history) return report(history.error());
  const auto added = history->add(files->records);
  if (!added) return report(added.error());
  print(fmt::format("{}: {} added, {} {} there; {} in all\n", request.database,
                    counted(added->fresh, "record"), added->known, added->known == 1 ? "was" : "were",
                    counted(std::ssize(history->runs()), "run")));
  // What a killed run recorded is as good as what a whole one did.
  for (const std::string& what : files->missing) complain(what);
  return passed;
}

std::string runs_text(const std::vector<HistoryRun>& runs) {
  if (runs.empty()) return "no runs";
  if (runs.size() == 1) return fmt::format("1 run of {}", runs.front().started);
  return fmt::format("{} runs from {} to {}", runs.size(), runs.front().started, runs.back().started);
}

bool is_of_device(const HistoryRun& run, const std::string& choice) {
  return choice.empty() || is_chosen({run.id, run.backend, run.device, run.driver, "", {}}, choice);
}

/// Why there is no answer, and what may be asked instead.
std::string nothing_fits(const HistoryRequest& request, const std::vector<HistoryRun>& runs) {
  if (runs.empty()) return fmt::format("{}: there are no records in it", request.database);
  std::set<std::string> devices;
  for (const HistoryRun& run : runs) devices.insert(fmt::format("{} ({})", run.id, run.device));
  const auto fits = [&](const HistoryRun& run) { return is_of_device(run, request.device); };
  if (std::ranges::none_of(runs, fits))
    return fmt::format("{}: no run is of the device '{}'; there are runs of {}", request.database,
                       request.device, fmt::join(devices, ", "));
  return fmt::format("{}: nothing fits ({} in it); patterns are matched whole: --case 'gemm m=64*'",
                     request.database, runs_text(runs));
}

int ask(const HistoryRequest& request) {
  auto history = History::open(request.database, History::Mode::ask);
  if (!history) return report(history.error());
  const std::vector<HistoryRun>& runs = history->runs();
  const auto results = history->results();
  if (!results) return report(results.error());
  ChangeOptions options;
  if (!request.statistic.empty()) options.statistic = parse_statistic(request.statistic);
  options.output = request.output;
  options.slower = request.slower;
  // Over the whole history, whatever part of it is asked for, so that one part's answer is that of all.
  options.limits = {request.chance / static_cast<double>(2 * *results + 1), request.smallest};
  ChangeFinder finder(runs, options);
  Trend trend(runs, options.statistic.value_or(Statistic::rms_error), request.output);
  HistoryPart part{request.case_text, request.path, {}};
  if (!request.device.empty())
    part.run = [&](const HistoryRun& run) { return is_of_device(run, request.device); };
  const auto read = history->each_series(part, [&](const HistorySeries& series) {
    finder.add(series);
    if (!request.svg.empty()) trend.add(series);
  });
  if (!read) return report(read.error());
  if (finder.series() == 0 || (!request.output.empty() && finder.with_output() == 0)) {
    complain(nothing_fits(request, runs));
    return nothing_judged;
  }
  const std::vector<HistoryChange> changes = finder.changes();
  if (!request.svg.empty())
    if (auto written = write_or_print(request.svg, trend.svg(changes)); !written)
      return report(written.error());
  if (request.json) {
    for (const HistoryChange& change : changes) print(history_json(runs, change) + "\n");
    return passed;
  }
  if (request.svg == "-") return passed;
  if (!changes.empty()) print(history_text(runs, changes, request.each_case));
  const std::int64_t series = finder.series();
  print(fmt::format("{} in {} on {}; {} in the history\n", counted(std::ssize(changes), "change"),
                    counted(series, "case"), series == 1 ? "its path" : "their paths", runs_text(runs)));
  return passed;
}

}  // namespace

void add_history_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<HistoryRequest>();
  CLI::App* command = app.add_subcommand(
      "history", "Records of many runs in one file: what changed when, on which driver, at which commit");
  command->require_subcommand(0, 1);
  command->add_option("database", request->database, "The history, as 'parity history add' made it");
  command->add_option("--case", request->case_text, "Cases that fit this pattern (*, ?) only");
  command->add_option("-p,--path", request->path, "Paths that fit this pattern (*, ?) only");
  command->add_option("-d,--device", request->device,
                      "Records of this device only: id, backend or a part of its name");
  command->add_option("--output", request->output, "Results whose tensor or port fits this pattern only");
  command
      ->add_option("--statistic", request->statistic,
                   "The figure asked for; without: verdict, bits and errors (rms_error, mean_error)")
      ->check(CLI::IsMember(statistic_names()));
  command->add_option(
      "--svg", request->svg,
      "Draw the figure (rms_error without --statistic) over the runs into this file (-: standard output)");
  command->add_flag("--each-case", request->each_case,
                    "A row a case, instead of a row for each figure and path that changed at one moment");
  command->add_flag("--json", request->json, "Changes as JSON lines, for programs");
  command
      ->add_option("--chance", request->chance,
                   "Probability of an error said to have moved though nothing changed")
      ->capture_default_str()
      ->check(number_in(1e-30, 0.1));
  command
      ->add_option("--smallest", request->smallest,
                   "Typical errors that changed by less than this factor did not")
      ->capture_default_str()
      ->check(number_in(1.0, 100.0));
  command
      ->add_option("--slower", request->slower,
                   "Times that changed by less than this factor did not (median of a path's cases)")
      ->capture_default_str()
      ->check(number_in(1.0, 1e6));
  command->footer(
      "A run's records go into the history with 'add'; the file is made by the first. A question goes to "
      "the\n"
      "file alone. Errors have changed where 'parity gate' would call it drift (docs/gate.md), measured from "
      "the\n"
      "last change on.\n"
      "\n"
      "Examples:\n"
      "  parity run --suite smoke --out results && parity history add parity.db results/records.jsonl\n"
      "  parity history parity.db                                    what changed, and when\n"
      "  parity history parity.db --case 'gemm *' --output D --statistic rms_error --svg trend.svg\n"
      "  parity history parity.db --statistic seconds --device vulkan    when did it get slower\n"
      "\n"
      "Exit codes: 0 answered, whatever the answer; 2 bad usage, or a file that is no history, of another "
      "version\n"
      "or damaged; 4 nothing fits, or this build has no SQLite; 5 the file cannot be written.");
  CLI::App* addition =
      command->add_subcommand("add", "Take records in; those that are there already are left out");
  addition->add_option("database", request->database, "The history; made where it is not")->required();
  addition->add_option("records", request->files, "Files of records (records.jsonl)")->required();
  addition->footer(
      "All records are taken in or, on an error or a kill, none.\n"
      "\n"
      "Example:\n"
      "  parity history add parity.db results/records.jsonl");
  command->callback([&context, request, addition] {
    if (addition->parsed()) {
      context.exit_code = add(*request);
    } else if (request->database.empty()) {
      complain("which history? Give its file; `parity history --help` has examples");
      context.exit_code = bad_usage;
    } else {
      context.exit_code = ask(*request);
    }
  });
}

}  // namespace parity::cli
