#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"
#include "reports/record_log.hpp"
#include "reports/table.hpp"

namespace parity::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string junit, markdown;
  bool each_case = false;
};

int run(const Options& options) {
  std::vector<Record> records;
  for (const std::string& file : options.files) {
    auto logged = read_record_log(file);
    if (!logged) return report(logged.error());
    if (!logged->note.empty()) complain(logged->note);
    for (Record& record : logged->records) records.push_back(std::move(record));
  }
  const auto write = [&](const std::string& file,
                         std::string (*make)(std::span<const Record>)) -> Result<void> {
    if (file == "-") {
      print(make(records));
      return {};
    }
    return write_file(file, make(records));
  };
  if (!options.junit.empty())
    if (auto written = write(options.junit, to_junit); !written) return report(written.error());
  if (!options.markdown.empty())
    if (auto written = write(options.markdown, [](std::span<const Record> all) { return to_markdown(all); });
        !written)
      return report(written.error());
  if (options.junit.empty() && options.markdown.empty())
    print(
        to_table(summarise(records, options.each_case ? Rows::per_case : Rows::per_path), {colour_wanted()}));
  if (records.empty()) {
    complain("there are no records");
    return nothing_judged;
  }
  return passed;
}

}  // namespace

void add_report_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("report", "Records to a table, JUnit XML or Markdown; merges several files");
  command->add_option("records", options->files, "Files of records (records.jsonl)")->required();
  command->add_option("--junit", options->junit, "Write JUnit XML to this file (-: standard output)");
  command->add_option("--markdown", options->markdown,
                      "Write a Markdown summary to this file (-: standard output)");
  command->add_flag("--each-case", options->each_case, "A row a case in the table, instead of a row a path");
  command->footer(
      "Without --junit and --markdown the table is printed. The exit code says whether the report was made, "
      "not what\n"
      "it says: 0, 2 for a file that cannot be read, 4 when there is no record.\n"
      "\n"
      "Examples:\n"
      "  parity report results/records.jsonl\n"
      "  parity report gpu0/records.jsonl gpu1/records.jsonl --junit junit.xml --markdown summary.md");
  command->callback([&context, options] { context.exit_code = run(*options); });
}

}  // namespace parity::cli
