#include "reports/junit.hpp"

#include <fmt/core.h>

#include <numeric>

#include "reports/failure_text.hpp"
#include "reports/summary.hpp"
#include "reports/xml_text.hpp"

namespace parity {
namespace {

double seconds_of(const Record& record) {
  return std::accumulate(record.host_seconds.begin(), record.host_seconds.end(), record.judge_seconds);
}

const char* element_of(const Record& record) {
  if (is_empty_pass(record)) return "skipped";
  switch (record.verdict) {
    case Verdict::pass:
      return nullptr;
    case Verdict::unsupported:
    case Verdict::untrusted:  // judged nothing, as the exit code says too
      return "skipped";
    case Verdict::crash:
    case Verdict::timeout:
      return "error";
    case Verdict::fail:
    case Verdict::suspect:
    case Verdict::drift:
      return "failure";
  }
  return "error";
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
  void add(const Record& record) {
    const std::string_view element = element_of(record) ? element_of(record) : "";
    ++tests;
    failures += element == "failure";
    errors += element == "error";
    skipped += element == "skipped";
    seconds += seconds_of(record);
  }
  std::string text() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.6f}")", tests, failures,
                       errors, skipped, seconds);
  }
};

void property(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty())
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml_text(name), xml_text(value));
}

void test_case(std::string& out, const Record& record) {
  out += fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.6f}")",
                     xml_text(record.device.id + "." + record.stage),
                     xml_text(record.path + " | " + record.case_text), seconds_of(record));
  const char* element = element_of(record);
  if (!element) {
    out += "/>\n";
    return;
  }
  const std::string reason = is_empty_pass(record)   ? "the result has no elements: nothing was compared"
                             : record.reason.empty() ? std::string(name_of(record.verdict))
                                                     : record.reason;
  out += ">\n";
  if (element == std::string_view("skipped"))
    out += fmt::format("      <skipped message=\"{}: {}\"/>\n", name_of(record.verdict), xml_text(reason));
  else
    out += fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", element,
                       name_of(record.verdict), xml_text(reason), xml_text(failure_text(record)));
  out += "    </testcase>\n";
}

bool same_device(const DeviceInfo& a, const DeviceInfo& b) {
  return a.id == b.id && a.name == b.name && a.driver == b.driver;
}

}  // namespace

std::string to_junit(std::span<const Record> records, const std::vector<std::string>& missing) {
  Counts all;
  all.tests = all.errors = missing.size();
  std::vector<const DeviceInfo*> devices;
  for (const Record& record : records) {
    all.add(record);
    bool known = false;
    for (const DeviceInfo* device : devices) known = known || same_device(*device, record.device);
    if (!known) devices.push_back(&record.device);
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += "<testsuites name=\"parity\" " + all.text() + ">\n";
  for (const DeviceInfo* device : devices) {
    Counts counts;
    std::string cases;
    const Record* first = nullptr;
    for (const Record& record : records) {
      if (!same_device(*device, record.device)) continue;
      if (!first) first = &record;
      counts.add(record);
      test_case(cases, record);
    }
    out += fmt::format("  <testsuite name=\"{}\" {}>\n    <properties>\n",
                       xml_text(device->id + " " + device->name), counts.text());
    property(out, "driver", device->driver);
    property(out, "api", device->api);
    property(out, "commit", first->provenance.commit);
    property(out, "version", first->provenance.version);
    property(out, "flags", first->provenance.flags);
    property(out, "started", first->provenance.started);
    out += "    </properties>\n" + cases + "  </testsuite>\n";
  }
  if (!missing.empty())
    out +=
        fmt::format(
            R"(  <testsuite name="completeness" tests="{0}" failures="0" errors="{0}" skipped="0" time="0">)",
            missing.size()) +
        "\n";
  for (const std::string& what : missing)
    out += fmt::format(
               R"(    <testcase classname="run" name="complete"><error type="incomplete" message="{}"/>)",
               xml_text(what)) +
           "</testcase>\n";
  if (!missing.empty()) out += "  </testsuite>\n";
  return out + "</testsuites>\n";
}

}  // namespace parity
