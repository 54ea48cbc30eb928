#include "harness/ladder/case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/nearest.hpp"
#include "harness/base/text.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

namespace {

constexpr std::size_t most_cases_per_pattern = 100'000;

/// One word of a pattern with its alternatives.
struct Word {
  std::string name;
  std::vector<std::string> values;
};

Result<AttributeValue> parse_value(const Parameter& parameter, std::string_view text) {
  const auto wrong = [&](std::string_view expected) {
    return bad_input(fmt::format("{}='{}': {}", parameter.name, text, expected));
  };
  const auto range = [&](std::string_view kind) {
    return fmt::format("wants {} from {} to {}", kind, parameter.least, parameter.most);
  };
  if (std::holds_alternative<std::int64_t>(parameter.fallback)) {
    const auto value = parse_number<std::int64_t>(text);
    if (!value || static_cast<double>(*value) < parameter.least ||
        static_cast<double>(*value) > parameter.most)
      return wrong(range("a whole number"));
    return *value;
  }
  if (std::holds_alternative<double>(parameter.fallback)) {
    const auto value = parse_number<double>(text);
    if (!value || !std::isfinite(*value) || *value < parameter.least || *value > parameter.most)
      return wrong(range("a number"));
    return *value == 0 ? 0.0 : *value;  // -0 and 0 are one case
  }
  if (std::ranges::find(parameter.choices, text) == parameter.choices.end())
    return wrong(
        fmt::format("may be {}{}", fmt::join(parameter.choices, ", "), suggestion(text, parameter.choices)));
  return std::string(text);
}

std::string print_value(const AttributeValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

/// `integer`: the one integer type that this word may name.
Result<DType> parse_precision_word(std::string_view name, std::string_view text, DType integer) {
  const auto dtype = parse_dtype(text);
  if (!dtype || (!is_float(*dtype) && *dtype != integer))
    return bad_input(fmt::format("{}='{}': may be f64, f32, f16 or bf16, or of integers {}", name, text,
                                 name_of(integer)));
  return *dtype;
}

/// Integers go with integers: i8 factors, an i32 accumulator, an i32 result.
Result<void> check_integers(const Case& c, const Stage& stage) {
  if (is_float(c.input) && is_float(c.accumulate) && is_float(c.store)) return {};
  if (c.input != DType::i8 || c.accumulate != DType::i32 || c.store != DType::i32)
    return bad_input(
        fmt::format("in={} acc={} out={}: a product of integers is in=i8 acc=i32 out=i32 (acc and out may be "
                    "left out); products of floating-point numbers have no integer among the three",
                    name_of(c.input), name_of(c.accumulate), name_of(c.store)));
  if (!suits(c.fill, c.input))
    return bad_input(fmt::format(
        "fill={}: integers have no NaN, no subnormals and no exponents; with in=i8 take normal, "
        "uniform, integer, selector, positive, cancelling, overflow, saturated, rows_equal or zeros",
        name_of(c.fill)));
  return stage.check_integers(c);
}

/// `{a,b}` and `{1..3}` to a list; anything else is itself.
Result<std::vector<std::string>> alternatives(std::string_view name, std::string_view text) {
  if (!text.starts_with('{')) return std::vector<std::string>{std::string(text)};
  if (!text.ends_with('}')) return bad_input(fmt::format("{}='{}': a list ends with '}}'", name, text));
  const std::string_view inside = text.substr(1, text.size() - 2);
  std::vector<std::string> values;
  if (const std::size_t dots = inside.find("..");
      dots != std::string_view::npos && inside.find(',') == std::string_view::npos) {
    const auto first = parse_number<std::int64_t>(inside.substr(0, dots));
    const auto last = parse_number<std::int64_t>(inside.substr(dots + 2));
    if (!first || !last || *last < *first)
      return bad_input(fmt::format("{}='{}': a range is written {{1..3}}, ascending", name, text));
    // As unsigned numbers: the difference of any two fits.
    if (static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first) >= most_cases_per_pattern)
      return bad_input(
          fmt::format("{}='{}': a range holds at most {} values", name, text, most_cases_per_pattern));
    for (std::int64_t i = *first; i <= *last; ++i) values.push_back(fmt::format("{}", i));
    return values;
  }
  for (const std::string_view part : split(inside, ",")) values.emplace_back(part);
  if (values.empty()) return bad_input(fmt::format("{}='{}': the list is empty", name, text));
  return values;
}

const std::vector<std::string_view>& common_words() {
  static const std::vector<std::string_view> words{"in", "acc", "out", "fill", "seed"};
  return words;
}

Result<Case> make_case(const Stage& stage, const std::map<std::string, std::string>& words) {
  Case c;
  c.stage = std::string(stage.name());
  const auto given = [&](std::string_view name) -> const std::string* {
    const auto found = words.find(std::string(name));
    return found == words.end() ? nullptr : &found->second;
  };
  for (const Parameter& parameter : stage.parameters()) {
    const std::string* text = given(parameter.name);
    if (text == nullptr) {
      if (parameter.required)
        return bad_input(
            fmt::format("stage '{}' needs {}= ({})", stage.name(), parameter.name, parameter.help));
      c.parameters.set(std::string(parameter.name), parameter.fallback);
      continue;
    }
    auto value = parse_value(parameter, *text);
    if (!value) return tl::unexpected(value.error());
    c.parameters.set(std::string(parameter.name), *std::move(value));
  }
  if (const std::string* text = given("in")) {
    const auto dtype = parse_precision_word("in", *text, DType::i8);
    if (!dtype) return tl::unexpected(dtype.error());
    c.input = *dtype;
  }
  const bool integers = c.input == DType::i8;
  c.accumulate = integers ? DType::i32 : c.input == DType::f64 ? DType::f64 : DType::f32;
  if (const std::string* text = given("acc")) {
    const auto dtype = parse_precision_word("acc", *text, DType::i32);
    if (!dtype) return tl::unexpected(dtype.error());
    c.accumulate = *dtype;
  }
  c.store = integers ? DType::i32 : c.input;
  if (const std::string* text = given("out")) {
    const auto dtype = parse_precision_word("out", *text, DType::i32);
    if (!dtype) return tl::unexpected(dtype.error());
    c.store = *dtype;
  }
  if (const std::string* text = given("fill")) {
    const auto fill = parse_fill(*text);
    if (!fill) {
      std::vector<std::string_view> names;
      for (int i = 0; i <= static_cast<int>(last_fill); ++i) names.push_back(name_of(static_cast<Fill>(i)));
      return bad_input(
          fmt::format("fill='{}': may be {}{}", *text, fmt::join(names, ", "), suggestion(*text, names)));
    }
    c.fill = *fill;
  }
  if (const std::string* text = given("seed")) {
    const auto seed = parse_number<std::uint64_t>(*text);
    if (!seed) return bad_input(fmt::format("seed='{}': wants a whole number from 0 to 2^64-1", *text));
    c.seed = *seed;
  }
  if (auto ok = check_integers(c, stage); !ok) return tl::unexpected(ok.error());
  return c;
}

/// Splits at blanks outside braces' contents (blanks inside braces are allowed and dropped).
Result<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_braces = false;
  for (const char ch : line) {
    const bool blank = ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
    if (ch == '{') in_braces = true;
    if (ch == '}') in_braces = false;
    if (!blank) word += ch;
    if (blank && !in_braces && !word.empty()) words.push_back(std::exchange(word, {}));
  }
  if (in_braces) return bad_input(fmt::format("'{}': a list is not closed with '}}'", line));
  if (!word.empty()) words.push_back(word);
  return words;
}

}  // namespace

std::string print_case(const Case& c, const StageTable& stages) {
  std::string text = c.stage;
  if (const Stage* stage = stages.find(c.stage)) {
    for (const Parameter& parameter : stage->parameters()) {
      const auto found = c.parameters.all().find(parameter.name);
      if (found == c.parameters.all().end()) continue;
      if (parameter.required || found->second != parameter.fallback)
        text += fmt::format(" {}={}", parameter.name, print_value(found->second));
    }
  }
  return text + fmt::format(" in={} acc={} out={} fill={} seed={}", name_of(c.input), name_of(c.accumulate),
                            name_of(c.store), name_of(c.fill), c.seed);
}

Result<std::vector<Case>> expand_pattern(std::string_view line, const StageTable& stages) {
  line = line.substr(0, line.find('#'));
  const auto words = words_of(line);
  if (!words) return tl::unexpected(words.error());
  if (words->empty()) return std::vector<Case>{};
  std::vector<std::string_view> stage_names;
  for (const auto& stage : stages.all()) stage_names.push_back(stage->name());
  const Stage* stage = stages.find(words->front());
  if (stage == nullptr)
    return bad_input(fmt::format("no stage is called '{}'; there is {}{}", words->front(),
                                 fmt::join(stage_names, ", "), suggestion(words->front(), stage_names)));

  std::vector<std::string_view> known;
  for (const Parameter& parameter : stage->parameters()) known.push_back(parameter.name);
  known.insert(known.end(), common_words().begin(), common_words().end());

  std::vector<Word> lists;
  std::size_t total = 1;
  for (std::size_t i = 1; i < words->size(); ++i) {
    const std::string_view word = (*words)[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      return bad_input(fmt::format("'{}': after the stage every word is name=value", word));
    const std::string_view name = word.substr(0, equals);
    if (std::ranges::find(known, name) == known.end())
      return bad_input(fmt::format("stage '{}' has no setting '{}'{}; it has {}", stage->name(), name,
                                   suggestion(name, known), fmt::join(known, ", ")));
    if (std::ranges::any_of(lists, [&](const Word& other) { return other.name == name; }))
      return bad_input(fmt::format("'{}' is given twice", name));
    auto values = alternatives(name, word.substr(equals + 1));
    if (!values) return tl::unexpected(values.error());
    total *= values->size();
    if (total > most_cases_per_pattern)
      return bad_input(fmt::format("the pattern expands to more than {} cases", most_cases_per_pattern));
    lists.push_back({std::string(name), *std::move(values)});
  }

  std::vector<Case> cases;
  cases.reserve(total);
  for (std::size_t index = 0; index < total; ++index) {
    std::map<std::string, std::string> chosen;
    std::size_t rest = index;
    for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
      chosen[list->name] = list->values[rest % list->values.size()];
      rest /= list->values.size();
    }
    auto c = make_case(*stage, chosen);
    if (!c) return tl::unexpected(c.error());
    cases.push_back(*std::move(c));
  }
  return cases;
}

Result<Case> parse_case(std::string_view text, const StageTable& stages) {
  auto cases = expand_pattern(text, stages);
  if (!cases)
    return tl::unexpected(
        Error{cases.error().kind, fmt::format("case '{}': {}", text, cases.error().message)});
  if (cases->empty()) return bad_input("the case text is empty; write for example 'gemm m=64 n=64 k=64'");
  if (cases->size() > 1)
    return bad_input(fmt::format("case '{}' is a pattern of {} cases; one is wanted", text, cases->size()));
  return std::move(cases->front());
}

Result<std::vector<Case>> parse_suite(std::string_view text, const std::string& name,
                                      const StageTable& stages) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  std::size_t number = 0;
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    auto expanded = expand_pattern(line, stages);
    if (!expanded)
      return tl::unexpected(
          Error{expanded.error().kind, fmt::format("{}:{}: {}", name, number, expanded.error().message)});
    for (Case& c : *expanded)
      if (seen.insert(print_case(c, stages)).second) cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace parity
