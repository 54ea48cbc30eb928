#include "reports/gate/waivers.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/text.hpp"
#include "reports/gate/gate.hpp"
#include "reports/text_file.hpp"

namespace parity {
namespace {

/// Numbers with dots between them from the first digit on.
std::vector<long> version_in(std::string_view text) {
  std::vector<long> parts;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto start = std::ranges::find_if(text, digit);
  const char* at = text.data() + (start - text.begin());
  const char* const end = text.data() + text.size();
  while (at != end && digit(*at)) {
    long part = 0;
    const auto read = std::from_chars(at, end, part);
    if (read.ec != std::errc()) return {};
    parts.push_back(part);
    at = read.ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return parts;
}

/// A pattern that is not there fits everything.
bool fits_if_any(const std::string& pattern, std::string_view text) {
  return pattern.empty() || fits_pattern(text, pattern);
}

/// "2027-03-01", a day that there is.
bool is_date(std::string_view text) {
  constexpr std::string_view form = "0000-00-00";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  const auto two = [&](std::size_t at) {
    return static_cast<unsigned>((text[at] - '0') * 10 + text[at + 1] - '0');
  };
  const std::chrono::year year(static_cast<int>(two(0) * 100 + two(2)));
  return (year / std::chrono::month(two(5)) / std::chrono::day(two(8))).ok();
}

/// The kinds of findings that a waiver may name.
std::vector<std::string_view> kinds() {
  std::vector<std::string_view> names;
  for (int kind = 0; kind < static_cast<int>(GateFinding::Kind::fresh); ++kind)
    names.push_back(name_of(static_cast<GateFinding::Kind>(kind)));
  return names;
}

}  // namespace

bool driver_in_range(std::string_view driver, std::string_view from, std::string_view below) {
  if (from.empty() && below.empty()) return true;
  const std::vector<long> version = version_in(driver);
  if (version.empty()) return false;
  return (from.empty() || version >= version_in(from)) && (below.empty() || version < version_in(below));
}

bool Waiver::fits(const DeviceInfo& of) const {
  return fits_if_any(backend, of.backend) && fits_if_any(device, of.name) &&
         (contains_word(of.name, vendor) || contains_word(of.driver, vendor)) &&
         driver_in_range(of.driver, driver_from, driver_below);
}

bool Waiver::fits(std::string_view kind_name, std::string_view case_of, std::string_view path_of) const {
  return fits_if_any(kind, kind_name) && fits_if_any(case_text, case_of) && fits_if_any(path, path_of);
}

Result<std::vector<Waiver>> parse_waivers(std::string_view text, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("waivers") || !json["waivers"].is_array())
    return bad_input(fmt::format("{}: this is no JSON of the form {{\"waivers\": [...]}}", name));
  std::vector<Waiver> waivers;
  for (const nlohmann::json& entry : json["waivers"]) {
    Waiver w;
    w.line = static_cast<int>(waivers.size()) + 1;
    const auto wrong = [&](const std::string& what) {
      return bad_input(fmt::format("{}: waiver {}: {}", name, w.line, what));
    };
    if (!entry.is_object()) return wrong("it should be an object with 'reason' and 'expires'");
    const std::map<std::string, std::string*> fields = {{"case", &w.case_text},
                                                        {"path", &w.path},
                                                        {"kind", &w.kind},
                                                        {"backend", &w.backend},
                                                        {"device", &w.device},
                                                        {"vendor", &w.vendor},
                                                        {"driver_from", &w.driver_from},
                                                        {"driver_below", &w.driver_below},
                                                        {"reason", &w.reason},
                                                        {"expires", &w.expires}};
    for (const auto& [key, value] : entry.items()) {
      const auto field = fields.find(key);
      if (field == fields.end()) return wrong(fmt::format("there is no field '{}'", key));
      if (!value.is_string()) return wrong(fmt::format("the field '{}' should be a text", key));
      *field->second = value.get<std::string>();
    }
    if (trimmed(w.reason).empty()) return wrong("it needs a 'reason'");
    if (w.expires.empty()) return wrong("it needs 'expires', a date like 2027-03-01");
    if (!is_date(w.expires))
      return wrong(fmt::format("'expires' is '{}', which is no date; write one like 2027-03-01", w.expires));
    const auto fits = [&](std::string_view kind) { return fits_if_any(w.kind, kind); };
    if (std::ranges::none_of(kinds(), fits))
      return wrong(
          fmt::format("there is no kind of finding '{}'; there are: {}", w.kind, fmt::join(kinds(), ", ")));
    for (const std::string& limit : {w.driver_from, w.driver_below})
      if (!limit.empty() && version_in(limit).empty())
        return wrong(fmt::format("'{}' is no version of a driver; write it like 570.86", limit));
    if (!w.driver_from.empty() && !w.driver_below.empty() &&
        version_in(w.driver_from) >= version_in(w.driver_below))
      return wrong(fmt::format("'driver_from' is '{}' and 'driver_below' is '{}': no driver is between them",
                               w.driver_from, w.driver_below));
    waivers.push_back(std::move(w));
  }
  return waivers;
}

Result<std::vector<Waiver>> read_waivers(const std::filesystem::path& file) {
  const auto text = read_text_file(file, "a file of waivers");
  if (!text) return tl::unexpected(text.error());
  return parse_waivers(*text, file.string());
}

}  // namespace parity
