#include "harness/cli/run_output.hpp"

#include <fmt/core.h>

#include "harness/cli/output.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"

namespace parity::cli {

Result<RunOutput> RunOutput::open(const std::filesystem::path& directory, bool append) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return bad_input(
        fmt::format("--out {}: the directory cannot be made: {}", directory.string(), error.message()));
  const auto mode = append ? RecordLog::Mode::append : RecordLog::Mode::create;
  auto log = RecordLog::open(directory / "records.jsonl", mode);
  if (!log) return tl::unexpected(log.error());
  return RunOutput(directory, std::move(*log));
}

Result<void> RunOutput::finish(bool complete) {
  if (auto ended = log_.end(complete); !ended) return ended;
  auto logged = read_record_log(log_.file());
  if (!logged) return tl::unexpected(logged.error());
  if (auto written = write_file(directory_ / "junit.xml", to_junit(logged->records, logged->missing));
      !written)
    return written;
  return write_file(directory_ / "summary.md", to_markdown(logged->records, logged->missing));
}

}  // namespace parity::cli
