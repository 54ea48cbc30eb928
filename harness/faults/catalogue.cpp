#include "harness/faults/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"

namespace parity::faults {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!trimmed(text).empty()) words.emplace_back(take_word(text));
  return words;
}

class CatalogueReader {
 public:
  explicit CatalogueReader(std::string name) : file_(std::move(name)) {}

  Result<void> line(std::string_view raw) {
    ++number_;
    std::string_view rest = raw;
    if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
    const std::string_view words = trimmed(rest);
    if (words.empty() || words.front() == '#') return {};
    // Text of sources keeps its own blanks: it is what follows the first "- " or "+ ".
    if (words.front() == '-' || words.front() == '+') {
      const std::size_t mark = rest.find(words.front());
      return source_line(words.front(), rest.substr(std::min(mark + 2, rest.size())));
    }
    rest = words;
    const std::string_view word = take_word(rest);
    if (word == "fault") return begin(rest);
    if (faults_.empty()) return wrong(fmt::format("'{}' stands before the first fault", word));
    return entry(word, rest);
  }

  Result<std::vector<CatalogueFault>> finish() {
    if (auto ok = check_last(); !ok) return tl::unexpected(ok.error());
    return std::move(faults_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", file_, number_, what));
  }
  CatalogueFault& fault() { return faults_.back(); }

  Result<void> begin(std::string_view name) {
    if (auto ok = check_last(); !ok) return ok;
    const bool is_word = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!is_word)
      return wrong(fmt::format("a fault's name is of small letters, digits and '-', not '{}'", name));
    if (std::ranges::any_of(faults_, [&](const CatalogueFault& f) { return f.name == name; }))
      return wrong(fmt::format("a second fault is called '{}'", name));
    faults_.emplace_back();
    fault().name = name;
    return {};
  }

  Result<void> entry(std::string_view word, std::string_view rest) {
    in_source_ = false;
    if (word != "positions" && rest.empty()) return wrong(fmt::format("nothing follows '{}'", word));
    if (word == "what") {
      fault().what = rest;
    } else if (word == "case") {
      fault().cases.emplace_back(rest);
    } else if (word == "also") {
      fault().also.emplace_back(rest);
    } else if (word == "path") {
      fault().paths = words_of(rest);
    } else if (word == "corrupt") {
      fault().corruption = rest;
    } else if (word == "in") {
      return realisation(rest);
    } else if (word == "not" || word == "missed") {
      DeviceReason reason;
      reason.where = take_word(rest);
      reason.reason = rest;
      if (rest.empty()) return wrong(fmt::format("no reason follows '{} {}'", word, reason.where));
      (word == "not" ? fault().not_here : fault().misses).push_back(std::move(reason));
    } else if (word == "severities" || word == "nominal" || word == "positions") {
      return numbers(word, rest);
    } else {
      return wrong(fmt::format("'{}' is no word of a catalogue", word));
    }
    return {};
  }

  Result<void> numbers(std::string_view word, std::string_view rest) {
    std::vector<double> values;
    for (const std::string& text : words_of(rest)) {
      const auto value = parse_number<double>(text);
      if (!value || !std::isfinite(*value)) return wrong(fmt::format("'{}' is no number", text));
      values.push_back(*value);
    }
    if (word == "severities") {
      fault().severities = values;
      return {};
    }
    if (values.size() != 1) return wrong(fmt::format("'{}' takes one number", word));
    if (word == "nominal") {
      fault().nominal = values.front();
    } else {
      if (values.front() < 1 || values.front() > 1000) return wrong("positions are 1 to 1000");
      fault().positions = static_cast<int>(values.front());
    }
    return {};
  }

  Result<void> realisation(std::string_view rest) {
    const std::string_view backend = take_word(rest);
    if (backend == "cpu") {
      fault().in_cpu = true;
      return {};
    }
    Mutation mutation;
    mutation.backend = backend;
    mutation.file = take_word(rest);
    mutation.modules = words_of(rest);
    if (backend == "cuda") {
      const std::string form = mutation.modules.size() == 1 ? mutation.modules.front() : "";
      mutation.modules.clear();
      if (form != "expression" && form != "statement")
        return wrong("'in cuda FILE' is followed by expression or statement");
      mutation.form = form == "expression" ? Mutation::Form::expression : Mutation::Form::statement;
    } else if (backend != "vulkan") {
      return wrong(fmt::format("faults are in cpu, vulkan and cuda, not in '{}'", backend));
    }
    if (mutation.file.empty()) return wrong(fmt::format("no file follows 'in {}'", backend));
    fault().mutations.push_back(std::move(mutation));
    in_source_ = true;
    has_from_ = has_to_ = false;
    return {};
  }

  Result<void> source_line(char mark, std::string_view text) {
    if (!in_source_ || faults_.empty() || fault().mutations.empty())
      return wrong(fmt::format("a line of source ('{}') without an 'in BACKEND FILE' before it", mark));
    if (mark == '-' && has_to_) {
      // A further place in the same file.
      Mutation next = fault().mutations.back();
      next.from.clear();
      next.to.clear();
      fault().mutations.push_back(std::move(next));
      has_to_ = has_from_ = false;
    }
    Mutation& open = fault().mutations.back();
    std::string& side = mark == '-' ? open.from : open.to;
    bool& begun = mark == '-' ? has_from_ : has_to_;
    if (begun) side += '\n';
    side += text;
    begun = true;
    return {};
  }

  Result<void> check_last() {
    if (faults_.empty()) return {};
    const CatalogueFault& f = faults_.back();
    const auto lacks = [&](std::string_view what) {
      return wrong(fmt::format("the fault '{}' before this line {}", f.name, what));
    };
    if (f.what.empty()) return lacks("has no 'what'");
    if (f.cases.empty()) return lacks("has no 'case'");
    if (f.corruption.empty() && !f.in_cpu && f.mutations.empty()) return lacks("is planted nowhere");
    if (!f.corruption.empty() && (f.in_cpu || !f.mutations.empty()))
      return lacks("is a faulty kernel and a change to a result at once");
    if (!f.severities.empty() && std::ranges::find(f.severities, f.nominal) == f.severities.end())
      return lacks("has a nominal severity that is none of its severities");
    for (const Mutation& m : f.mutations)
      if (m.from.empty()) return lacks(fmt::format("does not say what to change in {}", m.file));
    has_from_ = has_to_ = in_source_ = false;
    return {};
  }

  std::string file_;
  int number_ = 0;
  bool in_source_ = false, has_from_ = false, has_to_ = false;
  std::vector<CatalogueFault> faults_;
};

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

bool CatalogueFault::planted_in(std::string_view backend) const {
  if (!corruption.empty()) return true;
  if (backend == "cpu") return in_cpu;
  return std::ranges::any_of(mutations, [&](const Mutation& m) { return m.backend == backend; });
}

Result<std::vector<CatalogueFault>> parse_catalogue(std::string_view text, const std::string& name) {
  CatalogueReader reader(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto ok = reader.line(text.substr(0, end)); !ok) return tl::unexpected(ok.error());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

Result<std::string> mutate(const std::string& source, const Mutation& mutation, int number,
                           const std::string& fault) {
  const std::size_t found = occurrences(source, mutation.from);
  if (found != 1)
    return bad_input(fmt::format("fault '{}': the text to change stands {} times in {}, not once:\n{}", fault,
                                 found, mutation.file, mutation.from));
  std::string to = mutation.to;
  if (mutation.form == Mutation::Form::expression)
    to = fmt::format("(planted({}) ? ({}) : ({}))", number, mutation.to, mutation.from);
  if (mutation.form == Mutation::Form::statement)
    to = fmt::format("if (planted({})) {{\n{}\n}} else {{\n{}\n}}", number, mutation.to, mutation.from);
  std::string changed = source;
  return changed.replace(changed.find(mutation.from), mutation.from.size(), to);
}

}  // namespace parity::faults
