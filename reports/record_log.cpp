#include "reports/record_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/text.hpp"
#include "reports/record_json.hpp"
#include "reports/text_file.hpp"

namespace parity {
namespace {

std::string identity(const DeviceInfo& device) {
  return device.id + '\n' + device.name + '\n' + device.driver;
}

/// A log being read, line by line: records are gathered, runs are counted against what they set out to do.
class Reading {
 public:
  Reading(std::string name, LoggedRecords& logged) : name_(std::move(name)), logged_(logged) {}

  Result<void> line(std::string_view line) {
    if (is_run_mark(line)) {
      auto mark = parse_run_mark(line);
      if (!mark) return tl::unexpected(mark.error());
      finish();
      planned_ = mark->cases;
      plan_ = identity_of(*mark);
      begin(*std::move(mark));
      return {};
    }
    if (is_end_mark(line)) {
      const auto mark = parse_end_mark(line);
      if (!mark) return tl::unexpected(mark.error());
      end_ = *mark;
      finish();
      return {};
    }
    auto record = parse_record_json(line);
    if (!record) return tl::unexpected(record.error());
    auto& known = facts_[identity(record->device)];
    if (record->device.facts.empty())
      record->device.facts = known;
    else
      known = record->device.facts;
    if (run_) logged_.runs[*run_].records.push_back(logged_.records.size());
    logged_.records.push_back(std::move(*record));
    ++recorded_;
    return {};
  }

  void torn() { torn_ = true; }

  /// The log is at its end.
  void close() {
    finish();
    for (Gap& gap : gaps_) logged_.missing.push_back(std::move(gap.sentence));
  }

 private:
  /// What one run lacks, and its plan.
  struct Gap {
    std::string plan, sentence;
  };

  /// A run begins, or the last one of its plan goes on.
  void begin(RunMark mark) {
    auto& runs = logged_.runs;
    const auto goes_on = [&](const LoggedRun& run) { return identity_of(run.mark) == plan_; };
    const auto last = mark.resumes ? std::find_if(runs.rbegin(), runs.rend(), goes_on) : runs.rend();
    if (last == runs.rend()) {
      runs.push_back({std::move(mark), {}, false});
      run_ = runs.size() - 1;
    } else {
      run_ = static_cast<std::size_t>(runs.rend() - last) - 1;
      recorded_ = static_cast<std::int64_t>(runs[*run_].records.size());
      // What it lacked is counted with what it lacks now.
      std::erase_if(gaps_, [&](const Gap& gap) { return gap.plan == plan_; });
    }
  }

  /// The run so far is over: notes what it lacks, or that an earlier one of its plan lacks nothing any more.
  void finish() {
    const bool interrupted = planned_ && !(end_ && end_->complete);
    // Lines that someone removed are missing too.
    const bool lines_gone = (planned_ && recorded_ < *planned_) || (end_ && recorded_ < end_->recorded);
    if (interrupted || lines_gone)
      gaps_.push_back({plan_, fmt::format("{}: {} of {} recorded; {}", name_, recorded_,
                                          planned_ ? *planned_ : end_->recorded,
                                          interrupted ? "the run was interrupted" : "lines are gone")});
    else if (torn_)
      gaps_.push_back({plan_, name_ + ": the last record is torn; the run was interrupted"});
    else if (planned_ && !plan_.empty())
      std::erase_if(gaps_, [&](const Gap& gap) { return gap.plan == plan_; });
    if (run_) logged_.runs[*run_].complete = !interrupted && !lines_gone;
    run_.reset();
    planned_.reset();
    end_.reset();
    plan_.clear();
    recorded_ = 0;
    torn_ = false;
  }

  std::string name_;
  LoggedRecords& logged_;
  std::map<std::string, std::vector<DeviceFact>> facts_;
  std::vector<Gap> gaps_;
  std::optional<std::size_t> run_;  ///< the run being read, in logged_.runs
  std::optional<std::int64_t> planned_;
  std::string plan_;
  std::optional<EndMark> end_;
  std::int64_t recorded_ = 0;
  bool torn_ = false;
};

}  // namespace

Result<RecordLog> RecordLog::open(const std::filesystem::path& file, Mode mode, LoggedRecords* earlier) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return file_error(file, "cannot be opened for writing", errno);
  RecordLog log(file, descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return bad_input(fmt::format("{}: another run is writing this file", file.string()));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return file_error(file, "cannot be examined", errno);
  if (S_ISFIFO(status.st_mode))  // what is written there would not be there to be read at the end
    return bad_input(fmt::format("{}: this is a pipe, not a file of records", file.string()));
  if (status.st_size == 0) return log;
  if (mode == Mode::create)
    return bad_input(fmt::format(
        "{}: holds records of an earlier run; choose an empty directory, or append to it (--append)",
        file.string()));
  auto text = read_text_file(file, "a file of records");
  if (!text) return tl::unexpected(text.error());
  const std::size_t whole = text->rfind('\n') == std::string::npos ? 0 : text->rfind('\n') + 1;
  auto logged = parse_record_log(std::string_view(*text).substr(0, whole), file.string());
  if (!logged) return tl::unexpected(logged.error());
  if (whole < text->size() && ::ftruncate(descriptor, static_cast<off_t>(whole)) != 0)
    return file_error(file, "the torn last line cannot be cut off", errno);
  if (whole < text->size())
    logged->note = fmt::format("{}: the last line was torn (a run was killed while it wrote) and is cut off",
                               file.string());
  for (const Record& record : logged->records) log.described_.insert(identity(record.device));
  if (earlier) *earlier = *std::move(logged);
  return log;
}

RecordLog::RecordLog(RecordLog&& other) noexcept
    : file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      recorded_(other.recorded_),
      described_(std::move(other.described_)) {}

RecordLog& RecordLog::operator=(RecordLog&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(recorded_, other.recorded_);
  std::swap(described_, other.described_);
  return *this;
}

RecordLog::~RecordLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> RecordLog::write_line(std::string line) {
  line += '\n';
  struct stat before {};
  if (::fstat(descriptor_, &before) != 0) return file_error(file_, "cannot be examined", errno);
  ssize_t written = -1;
  do {
    written = ::write(descriptor_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) {
    // A short write is how a disk that fills up shows first.
    const int code = written < 0 ? errno : ENOSPC;
    if (written > 0 && ::ftruncate(descriptor_, before.st_size) != 0)
      return file_error(file_, "a record was written in part and could not be cut off", errno);
    return file_error(file_, "a record could not be written", code);
  }
  // A pipe or a character device has nothing to flush.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    return file_error(file_, "a record may not have reached the disk", errno);
  return {};
}

Result<void> RecordLog::begin(const RunMark& mark, std::int64_t recorded) {
  recorded_ = recorded;
  return write_line(to_json_line(mark));
}

Result<void> RecordLog::end(bool complete) {
  return write_line(to_json_line(EndMark{complete, recorded_}));
}

Result<void> RecordLog::append(const Record& record) {
  const std::string device = identity(record.device);
  std::string line;
  if (described_.contains(device)) {
    Record brief = record;
    brief.device.facts.clear();
    line = to_json_line(brief);
  } else {
    line = to_json_line(record);
  }
  if (auto written = write_line(std::move(line)); !written) return written;
  described_.insert(device);
  ++recorded_;
  return {};
}

Result<LoggedRecords> parse_record_log(std::string_view text, const std::string& name) {
  LoggedRecords logged;
  Reading reading(name, logged);
  text = without_byte_order_mark(text);
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t newline = text.find('\n', begin);
    const std::string_view line = text.substr(begin, newline == text.npos ? text.npos : newline - begin);
    begin = newline == text.npos ? text.size() : newline + 1;
    if (trimmed(line).empty()) {
      if (begin == text.size())
        logged.note = fmt::format("{}:{}: the last line is empty; left out", name, number);
      continue;
    }
    const auto read = reading.line(line);
    if (read) continue;
    if (newline != text.npos) return bad_input(fmt::format("{}:{}: {}", name, number, read.error().message));
    logged.note =
        fmt::format("{}:{}: the last line is torn (a run was killed while it wrote); left out", name, number);
    reading.torn();
  }
  reading.close();
  return logged;
}

Result<LoggedRecords> read_record_log(const std::filesystem::path& file) {
  auto text = read_text_file(file, "a file of records");
  if (!text) return tl::unexpected(text.error());
  return parse_record_log(*text, file.string());
}

}  // namespace parity
