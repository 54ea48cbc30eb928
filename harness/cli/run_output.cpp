#include "harness/cli/run_output.hpp"

#include <fmt/core.h>

#include "harness/cli/output.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"
#include "reports/order_report.hpp"
#include "reports/page.hpp"
#include "reports/probe_lines.hpp"
#include "reports/training_plot.hpp"

namespace parity::cli {

Result<RunOutput> RunOutput::open(const std::filesystem::path& directory, bool append) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  const auto mode = append ? RecordLog::Mode::append : RecordLog::Mode::create;
  auto log = RecordLog::open(directory / "records.jsonl", mode);
  if (!log) return tl::unexpected(log.error());
  return RunOutput(directory, std::move(*log));
}

Result<RunOutput> RunOutput::reopen(const std::filesystem::path& directory, LoggedRecords& earlier) {
  const std::filesystem::path file = directory / "records.jsonl";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return bad_input(fmt::format("{}: is not there, so there is no run to resume; begin one with --out {}",
                                 file.string(), directory.string()));
  auto log = RecordLog::open(file, RecordLog::Mode::append, &earlier);
  if (!log) return tl::unexpected(log.error());
  return RunOutput(directory, std::move(*log));
}

Result<void> RunOutput::finish(bool complete) {
  if (auto ended = log_.end(complete); !ended) return ended;
  auto logged = read_record_log(log_.file());
  if (!logged) return tl::unexpected(logged.error());
  if (auto written = write_summaries(directory_, logged->records, logged->missing); !written) return written;
  std::vector<ProbedTree> trees;
  std::error_code ignored;
  const std::filesystem::path probe = directory_ / "probe.jsonl";
  if (std::filesystem::exists(probe, ignored)) {
    auto read = read_probe_file(probe.string());
    if (!read) return tl::unexpected(read.error());
    trees = *std::move(read);
  }
  const PageSource source{log_.file().filename().string(), logged->records, logged->missing};
  return write_file(directory_ / "page.html", to_html(std::span(&source, 1), trees));
}

Result<void> write_summaries(const std::filesystem::path& directory, std::span<const Record> records,
                             const std::vector<std::string>& missing) {
  if (auto written = write_file(directory / "junit.xml", to_junit(records, missing)); !written)
    return written;
  for (const TrainingFigure& figure : training_figures(records))
    if (auto written = write_file(directory / figure.file, figure.svg); !written) return written;
  for (const OrderFigure& figure : order_figures(records))
    if (auto written = write_file(directory / figure.file, figure.svg); !written) return written;
  return write_file(directory / "summary.md", to_markdown(records, {.missing = missing, .images = true}));
}

Result<void> make_directory(const std::filesystem::path& directory, const char* option) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) return {};
  return bad_input(
      fmt::format("{} {}: the directory cannot be made: {}", option, directory.string(), error.message()));
}

}  // namespace parity::cli
