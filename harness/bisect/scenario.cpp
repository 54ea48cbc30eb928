#include "harness/bisect/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/text.hpp"

namespace parity {
namespace {

std::vector<std::string> parts_of(std::string_view text, char mark) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (const auto part = trimmed(text.substr(0, end)); !part.empty()) parts.emplace_back(part);
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

class ScenarioReader {
 public:
  explicit ScenarioReader(std::string name) : file_(std::move(name)) {}

  Result<void> line(std::string_view raw) {
    ++number_;
    std::string_view rest = trimmed(raw);
    if (rest.empty() || rest.front() == '#') return {};
    const std::string_view word = take_word(rest);
    if (rest.empty()) return wrong(fmt::format("nothing follows '{}'", word));
    if (word == "scenario") {
      if (auto ok = check_last(); !ok) return ok;
      if (std::ranges::any_of(list_, [&](const Scenario& s) { return s.name == rest; }))
        return wrong(fmt::format("a second scenario is called '{}'", rest));
      list_.emplace_back();
      list_.back().name = rest;
      return {};
    }
    if (list_.empty()) return wrong(fmt::format("'{}' stands before the first scenario", word));
    return entry(word, rest);
  }

  Result<std::vector<Scenario>> finish() {
    if (auto ok = check_last(); !ok) return tl::unexpected(ok.error());
    return std::move(list_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", file_, number_, what));
  }

  Result<void> entry(std::string_view word, std::string_view rest) {
    Scenario& s = list_.back();
    for (const auto& [name, text] : {std::pair<std::string_view, std::string*>{"what", &s.what},
                                     {"case", &s.case_text},
                                     {"fault", &s.fault},
                                     {"tensor", &s.tensor}})
      if (word == name) {
        *text = rest;
        return {};
      }
    if (word == "path") {
      s.paths = parts_of(rest, ' ');
      return {};
    }
    for (const auto& [name, list] :
         {std::pair<std::string_view, std::vector<std::string>*>{"finds", &s.finds},
          {"op", &s.ops},
          {"cause", &s.causes}})
      if (word == name) {
        *list = parts_of(rest, '|');
        return {};
      }
    if (word == "set") {
      auto setting = parse_setting(rest);
      if (!setting) return wrong(setting.error().message);
      s.settings.push_back(*std::move(setting));
      return {};
    }
    if (word == "plant") {
      auto change = parse_change(rest);
      if (!change) return wrong(change.error().message);
      s.change = *std::move(change);
      return {};
    }
    if (word == "step" || word == "timestep" || word == "element" || word == "race")
      return numbers(word, rest);
    if (word == "reference") {
      s.reference = take_word(rest);
      const auto factor = parse_number<double>(rest);
      if (!factor) return wrong(fmt::format("'{}' is no number", rest));
      s.reference_factor = *factor;
      return {};
    }
    if (word == "on" || word == "not" || word == "missed") {
      const std::string where(take_word(rest));
      if (word == "on" && take_word(rest) != "cause") return wrong("'on WHERE' is followed by 'cause'");
      if (rest.empty()) return wrong(fmt::format("no reason follows '{} {}'", word, where));
      (word == "on"    ? s.other_causes
       : word == "not" ? s.not_here
                       : s.misses)
          .push_back({where, std::string(rest)});
      return {};
    }
    return wrong(fmt::format("'{}' is no word of a list of scenarios", word));
  }

  Result<void> numbers(std::string_view word, std::string_view rest) {
    Scenario& s = list_.back();
    std::vector<std::int64_t> values;
    for (const std::string& part : parts_of(rest, ',')) {
      const auto value = parse_number<double>(part);
      if (!value || !(*value >= 0 && *value < 1e15) || std::floor(*value) != *value)
        return wrong(fmt::format("'{}' is no index", part));
      values.push_back(static_cast<std::int64_t>(*value));
    }
    if (word == "element") {
      s.element = std::move(values);
      return {};
    }
    if (values.size() != 1) return wrong(fmt::format("'{}' takes one number", word));
    if (word == "race")
      s.race_runs = values.front();
    else
      (word == "step" ? s.step : s.timestep) = values.front();
    return {};
  }

  Result<void> check_last() const {
    if (list_.empty()) return {};
    const Scenario& s = list_.back();
    const auto lacks = [&](std::string_view what) {
      return wrong(fmt::format("the scenario '{}' before this line {}", s.name, what));
    };
    if (s.what.empty()) return lacks("has no 'what'");
    if (s.case_text.empty() && s.fault.empty()) return lacks("has no 'case'");
    if (s.finds.empty()) return lacks("does not say what bisecting finds");
    const auto names_none = [](const std::string& kind) {
      return kind == "healthy" || kind == "given" || kind == "varies";
    };
    if (!std::ranges::all_of(s.finds, names_none) && (s.ops.empty() || s.causes.empty()))
      return lacks("names no op and cause");
    if (s.race_runs > 0 && (s.fault.empty() || s.ops.empty() || !s.element.empty()))
      return lacks("is a race: it names a fault and its ops, and no element");
    if (!s.fault.empty() + s.change.has_value() + !s.reference.empty() > 1)
      return lacks("has more than one of fault, plant and reference");
    return {};
  }

  std::string file_;
  int number_ = 0;
  std::vector<Scenario> list_;
};

}  // namespace

Result<InputSetting> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  auto place = parse_place(text.substr(0, equals));
  if (!place) return tl::unexpected(place.error());
  const auto value =
      equals == text.npos ? std::nullopt : parse_number<double>(trimmed(text.substr(equals + 1)));
  if (!value) return bad_input(fmt::format("'{}' has no number behind '='", text));
  return InputSetting{*std::move(place), *value};
}

Result<std::vector<Scenario>> parse_scenarios(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  ScenarioReader reader(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto ok = reader.line(text.substr(0, end)); !ok) return tl::unexpected(ok.error());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

}  // namespace parity
