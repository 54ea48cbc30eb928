#include <algorithm>
#include <cmath>
#include <map>

#include "reports/order_text.hpp"
#include "reports/page_data.hpp"
#include "reports/page_json.hpp"

namespace parity {
namespace {

constexpr Verdict page_verdicts[] = {Verdict::crash,       Verdict::timeout, Verdict::fail,
                                     Verdict::suspect,     Verdict::drift,   Verdict::untrusted,
                                     Verdict::unsupported, Verdict::pass};

/// Texts by number, each once.
class TextPool {
 public:
  std::int64_t number_of(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::int64_t> numbers_;
  std::vector<std::string> texts_;
};

/// A device of one source at one commit: what two sides of a comparison are.
struct PageSet {
  std::size_t source = 0;
  const Record* first = nullptr;
};

bool same_set(const Record& a, const Record& b) {
  return a.device.id == b.device.id && a.device.name == b.device.name && a.device.driver == b.device.driver &&
         a.provenance.commit == b.provenance.commit;
}

/// The larger; a NaN is never hidden.
double graver(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

/// One record's figures over its outputs.
struct CaseFigures {
  double ratio = 0, ulp = 0, relative = 0, aggregate = 0;
  std::int64_t elements = 0, compared = 0, equal = 0;

  explicit CaseFigures(const Record& record) {
    for (const OutputRecord& output : record.outputs) {
      const ErrorStatistics& s = output.judgement.statistics;
      ratio = graver(ratio, s.max_bound_ratio);
      if (is_float(output.dtype)) ulp = graver(ulp, s.ulp_quantiles.back());
      relative = graver(relative, s.relative_l2);
      aggregate = graver(aggregate, std::fabs(output.judgement.worst_aggregate));
      elements += s.elements;
      compared += output.judgement.replay.compared;
      equal += output.judgement.replay.equal;
    }
  }
};

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One number for the bits of every output, exact in a script's double; 0: not all are recorded.
std::int64_t bits_of_all(const Record& record) {
  std::uint64_t all = 0;
  for (const OutputRecord& output : record.outputs) {
    if (output.bits == 0) return 0;
    all = (all ^ output.bits) * 0x9e3779b97f4a7c15U;
  }
  return static_cast<std::int64_t>(all >> 12);
}

void write_sources(PageJson& json, std::span<const PageSource> sources) {
  json.key("sources").array(sources, [&](const PageSource& source) {
    json.open('{').key("name").string(source.name);
    json.key("missing").array(source.missing, [&](const std::string& what) { json.string(what); });
    json.close('}');
  });
}

void write_sets(PageJson& json, const std::vector<PageSet>& sets) {
  json.key("sets").array(sets, [&](const PageSet& set) {
    const DeviceInfo& device = set.first->device;
    const Provenance& from = set.first->provenance;
    json.open('{').key("source").integer(static_cast<std::int64_t>(set.source));
    json.key("id").string(device.id).key("backend").string(device.backend).key("name").string(device.name);
    json.key("driver").string(device.driver).key("api").string(device.api);
    json.key("commit")
        .string(from.commit)
        .key("version")
        .string(from.version)
        .key("flags")
        .string(from.flags);
    json.key("compiler").string(from.compiler).key("started").string(from.started);
    json.key("facts").array(device.facts, [&](const DeviceFact& fact) {
      json.open('[').string(fact.group).string(fact.name).string(fact.value).close(']');
    });
    json.close('}');
  });
}

}  // namespace

std::string page_index(std::span<const PageSource> sources, std::span<const ProbedTree> trees) {
  std::vector<PageSet> sets;
  std::vector<const Record*> records;
  std::vector<std::int64_t> set_of;
  for (std::size_t number = 0; number < sources.size(); ++number)
    for (const Record& record : sources[number].records) {
      auto set = std::find_if(sets.begin(), sets.end(), [&](const PageSet& known) {
        return known.source == number && same_set(*known.first, record);
      });
      if (set == sets.end()) set = sets.insert(sets.end(), {number, &record});
      records.push_back(&record);
      set_of.push_back(set - sets.begin());
    }

  PageJson json;
  json.open('{').key("format").integer(2);
  json.key("verdicts").array(page_verdicts, [&](Verdict verdict) { json.string(name_of(verdict)); });
  write_sources(json, sources);
  write_sets(json, sets);
  json.key("probed").raw(page_trees(trees));
  TextPool pool;
  json.key("rows").open('{');
  const auto column = [&](const char* name, const auto& each) {
    json.key(name).array(records, [&](const Record* record) { each(*record); });
  };
  const auto text = [&](const char* name, const auto& of) {
    column(name, [&](const Record& record) { json.integer(pool.number_of(of(record))); });
  };
  text("case", [](const Record& r) { return r.case_text; });
  text("stage", [](const Record& r) { return r.stage; });
  text("path", [](const Record& r) { return r.path; });
  text("reason", [](const Record& r) { return r.reason; });
  column("rung", [&](const Record& r) { json.integer(r.rung); });
  json.key("set").array(set_of, [&](std::int64_t set) { json.integer(set); });
  column("verdict", [&](const Record& r) {
    json.integer(std::find(std::begin(page_verdicts), std::end(page_verdicts), r.verdict) - page_verdicts);
  });
  std::vector<CaseFigures> figures;
  for (const Record* record : records) figures.emplace_back(*record);
  const auto figure = [&](const char* name, double CaseFigures::*member) {
    json.key(name).array(figures, [&](const CaseFigures& f) { json.number(f.*member); });
  };
  figure("ratio", &CaseFigures::ratio);
  figure("ulp", &CaseFigures::ulp);
  figure("relative", &CaseFigures::relative);
  figure("aggregate", &CaseFigures::aggregate);
  json.key("elements").array(figures, [&](const CaseFigures& f) { json.integer(f.elements); });
  json.key("replayed").array(figures, [&](const CaseFigures& f) { json.integer(f.compared); });
  json.key("equal").array(figures, [&](const CaseFigures& f) { json.integer(f.equal); });
  column("bits", [&](const Record& r) { json.integer(bits_of_all(r)); });
  column("order", [&](const Record& r) { json.number(device_spread(r.order).max_deviation, 3); });
  column("seconds", [&](const Record& r) {
    json.number(middle_of(r.device_seconds.empty() ? r.host_seconds : r.device_seconds));
  });
  json.close('}');
  json.key("text").array(pool.texts(), [&](const std::string& one) { json.string(one); });
  return json.close('}').take();
}

}  // namespace parity
