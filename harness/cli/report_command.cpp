#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/merge.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/record_files.hpp"
#include "harness/cli/run_output.hpp"
#include "reports/csv.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"
#include "reports/page.hpp"
#include "reports/table.hpp"

namespace parity::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string junit, markdown, html, csv, out;
  bool each_case = false, force_merge = false;
};

/// Files of records, and what `parity probe` left.
struct ReportInputs {
  std::vector<std::string> records;
  std::vector<ProbedTree> trees;
};

Result<ReportInputs> sort_inputs(const ReportOptions& options) {
  ReportInputs inputs;
  for (const std::string& file : options.files) {
    if (!is_probe_file(file)) {
      inputs.records.push_back(file);
      continue;
    }
    if (options.html.empty())
      return bad_input(file + ": holds probes, not records; beside records they are for the page (--html)");
    auto trees = read_probe_file(file);
    if (!trees) return tl::unexpected(trees.error());
    std::ranges::move(*trees, std::back_inserter(inputs.trees));
  }
  return inputs;
}

/// The page: a file, or index.html in a directory.
Result<void> write_page(const std::string& where, const RecordFiles& files,
                        const std::vector<ProbedTree>& trees) {
  std::vector<PageSource> pages;
  const std::span<const Record> records = files.records;
  for (const RecordFiles::Source& source : files.sources)
    pages.push_back({source.name, records.subspan(source.first, source.count), source.missing});
  const std::string page = to_html(pages, trees);
  if (where == "-" || where.ends_with(".html")) return write_or_print(where, page);
  if (auto made = make_directory(where, "--html"); !made) return made;
  return write_file(std::filesystem::path(where) / "index.html", page);
}

int run(const ReportOptions& options) {
  const auto inputs = sort_inputs(options);
  if (!inputs) return report(inputs.error());
  auto logs = read_logs(inputs->records);
  if (!logs) return report(logs.error());
  // A page alone shows files side by side; everything else takes their records together.
  const bool side_by_side = !options.html.empty() && options.junit.empty() && options.markdown.empty() &&
                            options.csv.empty() && options.out.empty();
  if (logs->size() > 1 && !options.force_merge && !side_by_side)
    if (auto checked = check_merge(*logs); !checked) return report(checked.error());
  const RecordFiles files = taken_together(*std::move(logs));
  const std::vector<Record>& records = files.records;
  const std::vector<std::string>& missing = files.missing;
  if (!options.junit.empty())
    if (auto written = write_or_print(options.junit, to_junit(records, missing)); !written)
      return report(written.error());
  if (!options.markdown.empty())
    if (auto written = write_or_print(options.markdown, to_markdown(records, {.missing = missing})); !written)
      return report(written.error());
  if (!options.csv.empty())
    if (auto written = write_or_print(options.csv, to_csv(records)); !written) return report(written.error());
  if (!options.html.empty())
    if (auto written = write_page(options.html, files, inputs->trees); !written)
      return report(written.error());
  if (!options.out.empty()) {
    if (auto made = make_directory(options.out); !made) return report(made.error());
    if (auto written = write_summaries(options.out, records, missing); !written)
      return report(written.error());
  }
  if (options.junit.empty() && options.markdown.empty() && options.html.empty() && options.csv.empty())
    print(to_table(summarise(records, options.each_case ? Rows::per_case : Rows::per_path),
                   {colour_wanted(), missing}));
  for (const std::string& what : missing) complain(what);
  if (!missing.empty()) return harness_failed;
  if (records.empty()) {
    complain("there are no records");
    return nothing_judged;
  }
  return passed;
}

}  // namespace

void add_report_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Records to a table, a page (HTML), JUnit XML or Markdown; merges several files");
  command
      ->add_option(
          "records", options->files,
          "Files of records (records.jsonl); for the page also of probes (probe.jsonl of `parity probe "
          "--out`), whose trees it draws")
      ->required();
  command->add_option("--junit", options->junit, "Write JUnit XML to this file (-: standard output)");
  command->add_option("--markdown", options->markdown,
                      "Write a Markdown summary to this file (-: standard output)");
  command->add_option("--html", options->html,
                      "Write a page to look at: this file (NAME.html), or index.html in this directory");
  command->add_option("--csv", options->csv,
                      "Write a table for spreadsheets to this file, a line an output (-: standard output)");
  command
      ->add_option("-o,--out", options->out,
                   "Directory for junit.xml, summary.md and pictures (SVG): what orders of summation do, "
                   "the losses of training runs")
      ->check([](const std::string& text) { return std::string(text.empty() ? "the value is empty" : ""); });
  command->add_flag(
      "--force-merge", options->force_merge,
      "Take files together though they are of different commits or suites, or shards are missing "
      "or there twice");
  command->add_flag("--each-case", options->each_case, "A row a case in the table, instead of a row a path");
  command->footer(
      "Without --html, --junit, --markdown and --csv the table is printed. The page needs nothing beside "
      "it;\n"
      "of two files it shows what changed. Records of several runs of one training case come together in "
      "one\n"
      "plot. The exit code says whether the report was made, not what it says: 0, 2 for a file that cannot "
      "be\n"
      "read, 4 when there is no record, 5 when the run that left the records did not get to its end (\"N of "
      "M\n"
      "recorded\"; the report is made all the same).\n"
      "\n"
      "Examples:\n"
      "  parity report results/records.jsonl\n"
      "  parity report gpu0/records.jsonl gpu1/records.jsonl --junit junit.xml --markdown summary.md\n"
      "  parity report old/records.jsonl new/records.jsonl --html changes.html\n"
      "  parity report results/records.jsonl profile/probe.jsonl --html page.html\n"
      "  parity report vulkan/records.jsonl cuda/records.jsonl --out report");
  command->callback([&context, options] { context.exit_code = run(*options); });
}

}  // namespace parity::cli
