#include "reports/history/history.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "harness/base/fnv1a.hpp"
#include "harness/base/text.hpp"
#include "reports/history/sqlite.hpp"

namespace parity {
namespace {

/// Says that a database is a history: "PaHi".
constexpr std::int64_t application = 0x50614869;

constexpr const char* tables = R"(
CREATE TABLE run(
  id INTEGER PRIMARY KEY, device_id TEXT NOT NULL, backend TEXT NOT NULL, device TEXT NOT NULL,
  driver TEXT NOT NULL, commit_id TEXT NOT NULL, version TEXT NOT NULL, flags TEXT NOT NULL, started TEXT NOT NULL,
  UNIQUE(started, commit_id, backend, device, device_id, driver, version, flags));
CREATE TABLE test(
  id INTEGER PRIMARY KEY, case_text TEXT NOT NULL, path TEXT NOT NULL, UNIQUE(case_text, path));
CREATE TABLE record(
  id INTEGER PRIMARY KEY, test INTEGER NOT NULL REFERENCES test, run INTEGER NOT NULL REFERENCES run,
  content INTEGER NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, reproducible INTEGER NOT NULL,
  inputs TEXT NOT NULL, seconds REAL, time_ratio REAL, UNIQUE(test, run, content));
CREATE TABLE result(
  record INTEGER NOT NULL REFERENCES record, place INTEGER NOT NULL, call INTEGER NOT NULL, calls INTEGER NOT NULL,
  op TEXT NOT NULL, path TEXT NOT NULL, port TEXT NOT NULL, tensor TEXT NOT NULL, bits TEXT NOT NULL,
  elements INTEGER NOT NULL, rms_error REAL, mean_error REAL, max_error REAL, max_err_over_bound REAL,
  relative_l2 REAL, max_ulp REAL, first_bin INTEGER NOT NULL, histogram TEXT NOT NULL,
  PRIMARY KEY(record, place)) WITHOUT ROWID;
)";

/// What makes a record another one.
std::int64_t content_of(const Record& record) {
  Fnv1a hash;
  for (const std::string_view text : {std::string_view(record.case_text), std::string_view(record.path),
                                      name_of(record.verdict), std::string_view(record.reason)})
    hash.add_field(text);
  hash.add(record.case_seconds);
  hash.add(record.judge_seconds);
  for (const double seconds : record.device_seconds) hash.add(seconds);
  for (const OutputRecord& output : record.outputs) {
    hash.add_field(output.tensor);
    hash.add(output.bits);
    hash.add(output.judgement.statistics.rms);
  }
  return static_cast<std::int64_t>(hash.value());
}

/// "0x9f3" and "12,5,0,1", as the tables have them.
bool parse_bits(std::string_view text, std::uint64_t& bits) {
  if (!text.starts_with("0x")) return false;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_counts(std::string_view text, std::vector<std::int64_t>& counts) {
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    std::int64_t count = 0;
    const auto [next, error] = std::from_chars(at, end, count);
    if (error != std::errc{} || (next != end && *next != ',')) return false;
    counts.push_back(count);
    at = next == end ? end : next + 1;
  }
  return true;
}

/// A run as it stands in the tables.
struct StoredRun {
  std::int64_t row = 0;
  HistoryRun run;
};

auto fields_of(const HistoryRun& r) {
  return std::tie(r.started, r.commit, r.backend, r.device, r.id, r.driver, r.version, r.flags);
}

HistoryRun run_of(const Record& record) {
  const DeviceInfo& device = record.device;
  const Provenance& from = record.provenance;
  return {device.id,   device.backend, device.name, device.driver,
          from.commit, from.version,   from.flags,  from.started};
}

}  // namespace

bool history_is_built_in() {
  return true;
}

struct History::Store {
  SqlDatabase database;
  std::string file;
  std::vector<HistoryRun> runs;            ///< by date
  std::map<std::int64_t, std::size_t> at;  ///< rows of the table to places in `runs`

  Result<void> check() const;
  Result<void> make_tables();
  Result<void> read_runs();
  Result<std::int64_t> run_row(const Record& record);
  Result<std::int64_t> test_row(const Record& record);
  Result<HistoryAddition> add_all(std::span<const Record> records);
  Result<void> add_results(std::int64_t row, const Record& record, const BaselineCase& kept);
  Result<void> read_outputs(std::int64_t row, HistoryPoint& point, SqlStatement& query) const;
  tl::unexpected<Error> damaged(const char* what) const {
    return bad_input(
        fmt::format("{}: is damaged: {}; make a new history from the files of records", file, what));
  }
};

/// Whether the file is a history of this version; one without a table is an empty one.
Result<void> History::Store::check() const {
  const auto count = database.number("SELECT count(*) FROM sqlite_master");
  if (!count) return tl::unexpected(count.error());
  const auto owner = database.number("PRAGMA application_id");
  if (!owner) return tl::unexpected(owner.error());
  if (*count == 0 && *owner == 0) return {};
  if (*owner != application)
    return bad_input(fmt::format("{}: is an SQLite database of something else, no history", file));
  const auto version = database.number("PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  if (*version != history_schema)
    return bad_input(
        fmt::format("{}: is a history of version {}, and this program knows version {}; use the program that "
                    "made it, or make a new one from the files of records",
                    file, *version, history_schema));
  return {};
}

Result<void> History::Store::make_tables() {
  const auto count = database.number("SELECT count(*) FROM sqlite_master");
  if (!count) return tl::unexpected(count.error());
  if (*count > 0) return {};
  if (auto made = database.execute(tables); !made) return made;
  return database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application, history_schema)
          .c_str());
}

Result<void> History::Store::read_runs() {
  const auto count = database.number("SELECT count(*) FROM sqlite_master");
  if (!count) return tl::unexpected(count.error());
  if (*count == 0) return {};
  auto query = database.prepare(
      "SELECT id, device_id, backend, device, driver, commit_id, version, flags, started FROM run "
      "ORDER BY started, id");
  if (!query) return tl::unexpected(query.error());
  runs.clear();
  at.clear();
  for (;;) {
    const auto row = query->step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return {};
    at.emplace(query->integer(0), runs.size());
    runs.push_back({query->text(1), query->text(2), query->text(3), query->text(4), query->text(5),
                    query->text(6), query->text(7), query->text(8)});
  }
}

History::History(std::unique_ptr<Store> store) : store_(std::move(store)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;

Result<History> History::open(const std::filesystem::path& file, Mode mode) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  if (mode == Mode::ask && !std::filesystem::exists(status))
    return bad_input(
        fmt::format("{0}: is not there; `parity history add {0} records.jsonl` makes it", file.string()));
  if (std::filesystem::is_directory(status))
    return bad_input(fmt::format("{}: is a directory; give a file, for example {}/parity.db", file.string(),
                                 file.string()));
  auto database = SqlDatabase::open(file, mode == Mode::add);
  if (!database) return tl::unexpected(database.error());
  auto store = std::make_unique<Store>(Store{*std::move(database), file.string(), {}, {}});
  if (auto checked = store->check(); !checked) return tl::unexpected(checked.error());
  if (auto read = store->read_runs(); !read) return tl::unexpected(read.error());
  return History(std::move(store));
}

Result<std::int64_t> History::Store::run_row(const Record& record) {
  const HistoryRun run = run_of(record);
  auto query = database.prepare(
      "SELECT id FROM run WHERE started = ? AND commit_id = ? AND backend = ? AND device = ? AND device_id = "
      "? "
      "AND driver = ? AND version = ? AND flags = ?");
  if (!query) return tl::unexpected(query.error());
  const auto found =
      std::apply([&](const auto&... field) { return query->with(field...).step(); }, fields_of(run));
  if (!found) return tl::unexpected(found.error());
  if (*found) return query->integer(0);
  auto insertion = database.prepare(
      "INSERT INTO run(started, commit_id, backend, device, device_id, driver, version, flags) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insertion) return tl::unexpected(insertion.error());
  const auto inserted =
      std::apply([&](const auto&... field) { return insertion->with(field...).run(); }, fields_of(run));
  if (!inserted) return tl::unexpected(inserted.error());
  return database.row();
}

Result<std::int64_t> History::Store::test_row(const Record& record) {
  auto query = database.prepare("SELECT id FROM test WHERE case_text = ? AND path = ?");
  if (!query) return tl::unexpected(query.error());
  const auto found = query->with(record.case_text, record.path).step();
  if (!found) return tl::unexpected(found.error());
  if (*found) return query->integer(0);
  auto insertion = database.prepare("INSERT INTO test(case_text, path) VALUES(?, ?)");
  if (!insertion) return tl::unexpected(insertion.error());
  if (auto inserted = insertion->with(record.case_text, record.path).run(); !inserted)
    return tl::unexpected(inserted.error());
  return database.row();
}

Result<void> History::Store::add_results(std::int64_t row, const Record& record, const BaselineCase& kept) {
  auto insertion = database.prepare(
      "INSERT INTO result(record, place, call, calls, op, path, port, tensor, bits, elements, rms_error, "
      "mean_error, max_error, max_err_over_bound, relative_l2, max_ulp, first_bin, histogram) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insertion) return tl::unexpected(insertion.error());
  for (std::size_t i = 0; i < kept.outputs.size(); ++i) {
    const BaselineOutput& o = kept.outputs[i];
    const ErrorStatistics& s = record.outputs[i].judgement.statistics;
    const auto whole = [](auto number) { return static_cast<std::int64_t>(number); };
    insertion->with(row, whole(i), whole(o.call), whole(o.calls), o.op, o.path, o.port, o.tensor,
                    fmt::format("{:#x}", o.bits), o.elements, o.rms, o.mean_signed, s.max_abs,
                    o.max_bound_ratio, s.relative_l2, s.ulp_quantiles.back(), o.first_bin,
                    fmt::format("{}", fmt::join(o.histogram, ",")));
    if (auto inserted = insertion->run(); !inserted) return inserted;
  }
  return {};
}

Result<HistoryAddition> History::Store::add_all(std::span<const Record> records) {
  if (auto made = make_tables(); !made) return tl::unexpected(made.error());
  auto insertion = database.prepare(
      "INSERT INTO record(test, run, content, verdict, reason, reproducible, inputs, seconds, time_ratio) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(test, run, content) DO NOTHING");
  if (!insertion) return tl::unexpected(insertion.error());
  HistoryAddition addition;
  const std::vector<BaselineCase> cases = baseline_cases(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const BaselineCase& kept = cases[i];
    const auto run = run_row(record);
    if (!run) return tl::unexpected(run.error());
    const auto test = test_row(record);
    if (!test) return tl::unexpected(test.error());
    const auto& times = record.device_seconds;
    insertion->with(*test, *run, content_of(record), name_of(kept.verdict), kept.reason,
                    std::int64_t{kept.reproducible}, kept.inputs,
                    times.empty() ? 0.0 : *std::ranges::min_element(times), kept.time_ratio);
    if (auto inserted = insertion->run(); !inserted) return tl::unexpected(inserted.error());
    if (database.changed_rows() == 0) {
      ++addition.known;
      continue;
    }
    ++addition.fresh;
    if (auto added = add_results(database.row(), record, kept); !added) return tl::unexpected(added.error());
  }
  return addition;
}

Result<HistoryAddition> History::add(std::span<const Record> records) {
  Store& store = *store_;
  // Writing into a damaged file makes it worse.
  auto sound = store.database.prepare("PRAGMA quick_check(1)");
  if (!sound) return tl::unexpected(sound.error());
  if (const auto row = sound->step(); !row) return tl::unexpected(row.error());
  if (sound->text(0) != "ok") return store.damaged(sound->text(0).c_str());
  if (auto begun = store.database.execute("BEGIN IMMEDIATE"); !begun) return tl::unexpected(begun.error());
  auto added = store.add_all(records);
  if (added)
    if (auto ended = store.database.execute("COMMIT"); !ended) added = tl::unexpected(ended.error());
  if (!added) {
    // SQLite may have done it by itself.
    [[maybe_unused]] const auto undone = store.database.execute("ROLLBACK");
    return added;
  }
  if (auto read = store.read_runs(); !read) return tl::unexpected(read.error());
  return added;
}

const std::vector<HistoryRun>& History::runs() const {
  return store_->runs;
}

Result<std::int64_t> History::results() const {
  return store_->runs.empty() ? Result<std::int64_t>(0)
                              : store_->database.number("SELECT count(*) FROM result");
}

Result<void> History::Store::read_outputs(std::int64_t row, HistoryPoint& point, SqlStatement& query) const {
  query.with(row);
  for (;;) {
    const auto stepped = query.step();
    if (!stepped) return tl::unexpected(stepped.error());
    if (!*stepped) return {};
    HistoryOutput output;
    BaselineOutput& o = output.result;
    o.call = static_cast<int>(query.integer(0));
    o.calls = static_cast<int>(query.integer(1));
    o.op = query.text(2);
    o.path = query.text(3);
    o.port = query.text(4);
    o.tensor = query.text(5);
    o.elements = query.integer(7);
    o.rms = query.number(8);
    o.mean_signed = query.number(9);
    output.max_abs = query.number(10);
    o.max_bound_ratio = query.number(11);
    output.relative_l2 = query.number(12);
    output.max_ulp = query.number(13);
    o.first_bin = query.integer(14);
    constexpr std::size_t bins = std::tuple_size_v<decltype(ErrorStatistics::ulp_histogram)>;
    if (!parse_bits(query.text(6), o.bits) || !parse_counts(query.text(15), o.histogram) || o.first_bin < 0 ||
        static_cast<std::size_t>(o.first_bin) > bins ||
        o.histogram.size() > bins - static_cast<std::size_t>(o.first_bin))
      return damaged("a result is none that this program wrote");
    point.outputs.push_back(std::move(output));
  }
}

Result<void> History::each_series(const HistoryPart& part,
                                  const std::function<void(const HistorySeries&)>& take) const {
  const Store& store = *store_;
  if (store.runs.empty()) return {};
  auto tests = store.database.prepare("SELECT id, case_text, path FROM test ORDER BY case_text, path");
  if (!tests) return tl::unexpected(tests.error());
  auto records = store.database.prepare(
      "SELECT id, run, verdict, reason, reproducible, inputs, seconds, time_ratio FROM record WHERE test = "
      "?");
  if (!records) return tl::unexpected(records.error());
  auto results = store.database.prepare(
      "SELECT call, calls, op, path, port, tensor, bits, elements, rms_error, mean_error, max_error, "
      "max_err_over_bound, relative_l2, max_ulp, first_bin, histogram FROM result WHERE record = ? "
      "ORDER BY place");
  if (!results) return tl::unexpected(results.error());
  std::vector<bool> fits;
  for (const HistoryRun& run : store.runs) fits.push_back(!part.run || part.run(run));
  for (;;) {
    const auto test = tests->step();
    if (!test) return tl::unexpected(test.error());
    if (!*test) return {};
    const std::string case_text = tests->text(1), path = tests->text(2);
    if (!part.case_text.empty() && !fits_pattern(case_text, part.case_text)) continue;
    if (!part.path.empty() && !fits_pattern(path, part.path)) continue;
    // By device, then by date, then as they came in.
    std::map<std::pair<std::string, std::string>,
             std::map<std::pair<std::size_t, std::int64_t>, HistoryPoint>>
        devices;
    records->with(tests->integer(0));
    for (;;) {
      const auto row = records->step();
      if (!row) return tl::unexpected(row.error());
      if (!*row) break;
      const auto run = store.at.find(records->integer(1));
      const auto verdict = parse_verdict(records->text(2));
      if (run == store.at.end() || !verdict) return store.damaged("a record is none that this program wrote");
      if (!fits[run->second]) continue;
      HistoryPoint point;
      point.run = run->second;
      point.verdict = *verdict;
      point.reason = records->text(3);
      point.reproducible = records->integer(4) != 0;
      point.inputs = records->text(5);
      point.seconds = records->number(6);
      point.time_ratio = records->number(7);
      if (auto read = store.read_outputs(records->integer(0), point, *results); !read) return read;
      const HistoryRun& of = store.runs[run->second];
      devices[{of.backend, of.device}].emplace(std::pair(run->second, records->integer(0)), std::move(point));
    }
    for (auto& [device, points] : devices) {
      HistorySeries series{case_text, path, {}};
      for (auto& [place, point] : points) series.points.push_back(std::move(point));
      take(series);
    }
  }
}

}  // namespace parity
