#include "reports/gate/bless.hpp"

#include <fmt/core.h>

#include <map>

#include "harness/base/text.hpp"
#include "reports/gate/baseline_fields.hpp"
#include "reports/json_archive.hpp"

namespace parity {
namespace {

/// What of a case makes a baseline another one: everything but how long it took.
std::string meaning_of(BaselineCase c) {
  c.time_ratio = 0;
  ArchiveJson fields;
  JsonWriter writer(fields);
  record_fields(writer, c);
  return dump_json(fields);
}

}  // namespace

Result<Baseline> bless(Baseline before, const Baseline& now, const BlessedPart& part, Blessing blessing) {
  const bool fresh = before.cases.empty() && before.blessings.empty();
  if (!fresh && (before.device != now.device || before.backend != now.backend))
    return bad_input(fmt::format("the baseline is of '{}' ({}) and the records are of '{}' ({})",
                                 before.device, before.backend, now.device, now.backend));
  const auto fits = [&](const BaselineCase& c) {
    return (part.case_text.empty() || fits_pattern(c.case_text, part.case_text)) &&
           (part.path.empty() || fits_pattern(c.path, part.path));
  };
  const bool everything = part.case_text.empty() && part.path.empty();
  using Place = std::pair<std::string, std::string>;
  std::map<Place, const BaselineCase*> cases;
  std::map<Place, std::string> old;
  for (const BaselineCase& c : before.cases) {
    old.emplace(Place(c.case_text, c.path), meaning_of(c));
    if (!everything) cases.emplace(Place(c.case_text, c.path), &c);
  }
  bool any = false;
  for (const BaselineCase& c : now.cases) {
    if (!fits(c)) continue;
    any = true;
    if (c.verdict != Verdict::pass && c.verdict != Verdict::unsupported && c.verdict != Verdict::untrusted)
      return bad_input(
          fmt::format("'{}' on {} is {}: a baseline holds what is right; cure it, or waive it for a while "
                      "(--waivers)",
                      c.case_text, c.path, name_of(c.verdict)));
    cases.insert_or_assign(Place(c.case_text, c.path), &c);
  }
  if (!any) return bad_input("no record fits the pattern: nothing to bless");
  blessing.cases = 0;
  for (const auto& [place, c] : cases) {
    const auto was = old.find(place);
    if (was == old.end() || was->second != meaning_of(*c)) ++blessing.cases;
    if (was != old.end()) old.erase(was);
  }
  blessing.cases += static_cast<std::int64_t>(old.size());
  if (blessing.cases == 0) return bad_input("the records say what the baseline says: nothing to bless");
  Baseline blessed = now;
  blessed.blessings = before.blessings;
  blessed.blessings.push_back(std::move(blessing));
  blessed.cases.clear();
  for (const auto& [place, c] : cases) blessed.cases.push_back(*c);
  return blessed;
}

}  // namespace parity
