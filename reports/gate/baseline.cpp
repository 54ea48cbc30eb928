#include "reports/gate/baseline.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/text.hpp"
#include "reports/gate/baseline_check.hpp"
#include "reports/gate/baseline_fields.hpp"
#include "reports/json_archive.hpp"
#include "reports/text_file.hpp"

namespace parity {
namespace {

auto key_of(const BaselineCase& c) {
  return std::tie(c.case_text, c.path);
}

BaselineOutput baseline_output(const OutputRecord& output) {
  const ErrorStatistics& s = output.judgement.statistics;
  BaselineOutput kept;
  kept.call = output.call;
  kept.calls = output.calls;
  kept.op = output.op;
  kept.path = output.path;
  kept.port = output.port;
  kept.tensor = output.tensor;
  kept.bits = output.bits;
  kept.elements = s.elements;
  kept.rms = s.rms;
  kept.mean_signed = s.mean_signed;
  kept.max_bound_ratio = s.max_bound_ratio;
  const auto counted = [](std::int64_t n) { return n != 0; };
  const auto first = std::ranges::find_if(s.ulp_histogram, counted);
  if (first != s.ulp_histogram.end()) {
    const auto last = std::find_if(s.ulp_histogram.rbegin(), s.ulp_histogram.rend(), counted).base();
    kept.first_bin = first - s.ulp_histogram.begin();
    kept.histogram.assign(first, last);
  }
  return kept;
}

template <class T>
std::string line_of(const T& value) {
  ArchiveJson fields;
  JsonWriter writer(fields);
  record_fields(writer, value);
  return dump_json(fields) + "\n";
}

/// Whether two runs of a case left the same bits in every result.
bool same_bits(const BaselineCase& a, const BaselineCase& b) {
  return std::ranges::equal(a.outputs, b.outputs, {}, &BaselineOutput::bits, &BaselineOutput::bits);
}

}  // namespace

ResultKey result_key(const BaselineOutput& o) {
  return o.calls > 1 ? ResultKey(o.op, o.path, o.port, o.calls, -1, "")
                     : ResultKey(o.op, o.path, o.port, o.calls, o.call, o.tensor);
}

namespace {

/// The path of a device as one driver and one commit have it.
std::string path_of(const Record& r) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", r.device.id, r.device.name, r.device.driver, r.provenance.commit,
                     r.path);
}

}  // namespace

std::vector<BaselineCase> baseline_cases(std::span<const Record> records) {
  std::vector<BaselineCase> cases;
  std::set<std::string> changing;
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // by path and case
  for (const Record& record : records) {
    cases.push_back(baseline_case(record));
    const std::string path = path_of(record);
    const auto [place, fresh] = known.try_emplace({path, record.case_text}, cases.size() - 1);
    if (!fresh && !same_bits(cases[place->second], cases.back())) changing.insert(path);
    // Three terms have few orders: atomics agree by luck there, however often they are run.
    if (record.order.run_to_run && !record.order.run_to_run->bit_equal) changing.insert(path);
  }
  for (std::size_t i = 0; i < cases.size(); ++i)
    cases[i].reproducible = cases[i].reproducible && !changing.contains(path_of(records[i]));
  return cases;
}

BaselineCase baseline_case(const Record& record) {
  BaselineCase c;
  c.case_text = record.case_text;
  c.path = record.path;
  c.verdict = record.verdict;
  c.reason = record.reason;
  c.reproducible = record.order.run_to_run && record.order.run_to_run->bit_equal;
  for (const auto& [name, hash] : record.input_hashes)
    c.inputs += fmt::format("{}{}:{}", c.inputs.empty() ? "" : " ", name, hash);
  if (!record.device_seconds.empty() && record.reference_seconds > 0)
    c.time_ratio = *std::ranges::min_element(record.device_seconds) / record.reference_seconds;
  for (const OutputRecord& output : record.outputs) c.outputs.push_back(baseline_output(output));
  return c;
}

Result<void> check_one_device(std::span<const Record> records) {
  std::map<std::pair<std::string, std::string>, std::string> devices;  // by case and path
  for (const Record& record : records) {
    const auto [place, fresh] = devices.try_emplace({record.case_text, record.path}, record.device.id);
    if (!fresh && place->second != record.device.id)
      return bad_input(
          fmt::format("the records are of two devices called '{}', {} and {}: choose with --device",
                      record.device.name, place->second, record.device.id));
  }
  return {};
}

Result<Baseline> make_baseline(std::span<const Record> records) {
  if (records.empty()) return bad_input("there are no records to make a baseline of");
  if (const auto one = check_one_device(records); !one) return tl::unexpected(one.error());
  Baseline baseline;
  const DeviceInfo& device = records.front().device;
  baseline.backend = device.backend;
  baseline.device = device.name;
  baseline.driver = device.driver;
  std::vector<BaselineCase> cases = baseline_cases(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.device.name != device.name || record.device.backend != device.backend)
      return bad_input(fmt::format(
          "the records are of several devices ('{}' of {} and '{}' of {}); a baseline is of one: choose "
          "with --device",
          device.name, device.backend, record.device.name, record.device.backend));
    const auto mixed = [](const char* what, const std::string& one, const std::string& other) {
      return bad_input(
          fmt::format("the records are of several {} ('{}' and '{}'); bless those of one", what, one, other));
    };
    if (record.device.driver != device.driver) return mixed("drivers", device.driver, record.device.driver);
    if (const std::string& commit = records.front().provenance.commit; record.provenance.commit != commit)
      return mixed("commits", commit, record.provenance.commit);
    BaselineCase& c = cases[i];
    if (const auto checked = check_figures(c); !checked)
      return bad_input(fmt::format("the record of '{}' on {}: {}; record it again", c.case_text, c.path,
                                   checked.error().message));
    const auto place = std::ranges::lower_bound(baseline.cases, key_of(c), {}, key_of);
    if (place == baseline.cases.end() || key_of(*place) != key_of(c)) {
      baseline.cases.insert(place, std::move(c));
      continue;
    }
    if (worse(place->verdict, c.verdict) == c.verdict) *place = std::move(c);
  }
  return baseline;
}

std::string to_text(const Baseline& baseline) {
  std::string text;
  {
    ArchiveJson fields;
    JsonWriter writer(fields);
    writer("baseline", baseline_schema);
    writer("cases", static_cast<std::int64_t>(baseline.cases.size()));
    record_fields(writer, baseline);
    text = dump_json(fields) + "\n";
  }
  for (const BaselineCase& c : baseline.cases) text += line_of(c);
  return text;
}

Result<Baseline> parse_baseline(std::string_view text, const std::string& name) {
  Baseline baseline;
  bool counted = false;  // older baselines do not say how many cases they have
  std::int64_t cases = 0;
  int number = 0, first = 0;
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (trimmed(line).empty()) continue;
    const auto wrong = [&](const std::string& what) {
      return bad_input(fmt::format("{}:{}: {}", name, number, what));
    };
    const ArchiveJson json = ArchiveJson::parse(line, nullptr, false);
    if (json.is_discarded()) return wrong("this is not a complete line of JSON");
    std::string error;
    JsonReader reader(json, {}, error);
    if (first == 0) {
      first = number;
      int schema = 0;
      if (!json.is_object() || !json.contains("baseline"))
        return wrong("a baseline begins with the line of its device; 'parity bless' makes one of records");
      reader("baseline", schema);
      if (error.empty() && schema != baseline_schema)
        return wrong(
            fmt::format("the baseline has schema {} and this program reads {}", schema, baseline_schema));
      counted = json.contains("cases");
      if (counted) reader("cases", cases);
      record_fields(reader, baseline);
      if (!error.empty()) return wrong(error);
      continue;
    }
    BaselineCase c;
    record_fields(reader, c);
    if (!error.empty()) return wrong(error);
    if (const auto checked = check_figures(c); !checked) return wrong(checked.error().message);
    if (!baseline.cases.empty() && !(key_of(baseline.cases.back()) < key_of(c)))
      return wrong("the cases are not sorted, or one stands there twice");
    baseline.cases.push_back(std::move(c));
  }
  if (first == 0) return bad_input(fmt::format("{}: the baseline is empty", name));
  if (const std::int64_t read = std::ssize(baseline.cases); counted && cases != read)
    return bad_input(
        fmt::format("{}:{}: the baseline has {} cases by this line, and {} follow: the file was cut or "
                    "edited. Take it from version control, or delete it and bless the records again",
                    name, first, cases, read));
  return baseline;
}

Result<Baseline> read_baseline(const std::filesystem::path& file) {
  const auto text = read_text_file(file, "a baseline");
  if (!text) return tl::unexpected(text.error());
  return parse_baseline(*text, file.string());
}

}  // namespace parity
