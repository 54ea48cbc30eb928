#include <algorithm>

#include "reports/failure_text.hpp"
#include "reports/page_data.hpp"
#include "reports/page_json.hpp"
#include "reports/statistics_text.hpp"

namespace parity {
namespace {

/// Worst elements shown of a pass: those of anything else are all there.
constexpr std::size_t worst_of_a_pass = 3;

void write_texts(PageJson& json, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(key).array(texts, [&](const std::string& text) { json.string(text); });
}

void write_numbers(PageJson& json, const char* key, const std::vector<double>& numbers, int digits = 4) {
  if (numbers.empty()) return;
  json.key(key).array(numbers, [&](double number) { json.number(number, digits); });
}

/// The order of these is that of `statisticNames` in reports/html/outputs.js.
void write_statistics(PageJson& json, const ErrorStatistics& s) {
  json.key("st").open('[');
  for (const std::int64_t count : {s.elements, s.nan, s.inf, s.unexpected_nonfinite, s.missing_nan,
                                   s.unwritten, s.zeros_want, s.outside_spread, s.outside_hard})
    json.integer(count);
  for (const double size : {s.max_bound_ratio, s.max_hard_ratio, s.max_abs, s.mean_abs, s.mean_signed, s.rms,
                            s.max_relative, s.relative_l2, s.nmse})
    json.number(size);
  // What matters of these is how far they are from 1.
  json.number(s.norm_ratio, 10).number(1 - s.cosine).number(1 - s.cosine_worst_row).close(']');
  json.key("q").array(s.ulp_quantiles, [&](double value) { json.number(value); });
}

/// The bins between the first and the last that hold something, after the number of the first.
void write_histogram(PageJson& json, const ErrorStatistics& s) {
  const auto& bins = s.ulp_histogram;
  const auto holds = [](std::int64_t count) { return count != 0; };
  const auto first = std::find_if(bins.begin(), bins.end(), holds);
  const auto last = std::find_if(bins.rbegin(), bins.rend(), holds).base();
  if (first == bins.end()) return;
  json.key("h").open('[').integer(first - bins.begin());
  for (auto bin = first; bin != last; ++bin) json.integer(*bin);
  json.close(']');
}

void write_worst(PageJson& json, const OutputRecord& output) {
  const auto& worst = output.judgement.statistics.worst;
  const std::size_t shown =
      output.judgement.verdict == Verdict::pass ? std::min(worst_of_a_pass, worst.size()) : worst.size();
  if (shown == 0) return;
  const int digits = output.dtype == DType::f64 ? 17 : output.dtype == DType::i32 ? 10 : 9;
  json.key("w").array(std::span(worst).first(shown), [&](const WorstElement& e) {
    json.open('[')
        .integer(e.batch)
        .integer(e.row)
        .integer(e.col)
        .number(e.got, digits)
        .number(e.want, digits + 1);
    json.number(e.bound).number(e.ratio);
    json.string(fmt::format("0x{:0{}x}", e.got_bits, 2 * size_of(output.dtype))).close(']');
  });
}

void write_pictures(PageJson& json, const Judgement& j) {
  const auto& bins = j.predicted_ulp;
  // Less than a thousandth of an element is not drawn.
  const auto holds = [](double expected) { return expected >= 1e-3; };
  const auto first = std::find_if(bins.begin(), bins.end(), holds);
  const auto last = std::find_if(bins.rbegin(), bins.rend(), holds).base();
  if (first != bins.end()) {
    json.key("predicted").open('[').integer(first - bins.begin());
    for (auto bin = first; bin != last; ++bin) json.number(*bin, 3);
    json.close(']');
  }
  if (!j.map) return;
  json.key("map").open('{').key("rows").integer(j.map->rows).key("columns").integer(j.map->columns);
  json.key("cell_rows").integer(j.map->cell_rows).key("cell_columns").integer(j.map->cell_columns);
  json.key("ratios").array(j.map->ratios, [&](double ratio) { json.number(ratio, 3); });
  json.close('}');
}

void write_output(PageJson& json, const OutputRecord& output) {
  const Judgement& j = output.judgement;
  json.open('{').key("op").string(output.op).key("path").string(output.path);
  json.key("port").string(output.port).key("tensor").string(output.tensor);
  if (output.calls != 1) json.key("calls").integer(output.calls);
  json.key("shape").array(output.shape, [&](std::int64_t extent) { json.integer(extent); });
  json.key("dtype").string(name_of(output.dtype)).key("verdict").string(name_of(j.verdict));
  json.key("contract").string(contract_text(output.contract));
  write_texts(json, "reasons", j.reasons);
  write_statistics(json, j.statistics);
  write_histogram(json, j.statistics);
  write_worst(json, output);
  write_pictures(json, j);
  json.key("aggregate").number(j.worst_aggregate);
  if (!j.aggregates.empty())
    json.key("findings").array(j.aggregates, [&](const AggregateFinding& f) {
      json.string(aggregate_text(f));
    });
  if (j.location.wrong > 0)
    json.key("where").string(j.location.pattern).key("wrong").integer(j.location.wrong);
  const ReplayResult& r = j.replay;
  if (r.attempted)
    json.key("replay")
        .open('[')
        .string(r.model)
        .integer(r.equal)
        .integer(r.compared)
        .integer(r.elements)
        .close(']');
  if (!r.note.empty()) json.key("note").string(r.note);
  if (output.sampled) json.key("sampled").string(sampled_text(*output.sampled));
  write_texts(json, "seen", output.power.seen);
  write_texts(json, "missed", output.power.missed);
  json.close('}');
}

void write_spread(PageJson& json, const std::string& what, const OrderSpread& s) {
  json.open('[').string(what).integer(s.results).integer(s.elements).integer(s.differing);
  json.number(s.max_range_ulp)
      .number(s.rms_range_ulp)
      .number(s.predicted_elements > 0 ? s.rms_deviation_sigma : 0);
  json.close(']');
}

void write_order(PageJson& json, const OrderEffects& order) {
  json.key("order").open('[');
  const auto one = [&](const char* what, const std::optional<OrderSpread>& spread) {
    if (spread) write_spread(json, what, *spread);
  };
  one("run to run", order.run_to_run);
  one("batch invariance", order.batch_invariance);
  one("permuted reduction", order.permutation);
  one("emulated orders", order.ensemble);
  for (const OrderExperiment& e : order.experiments)
    write_spread(json, fmt::format("{} {}: {} {}", e.op, e.path, e.what, e.along), e.spread);
  json.close(']');
  write_texts(json, "order_notes", order.notes);
}

void write_drift(PageJson& json, const Record& record) {
  if (!record.drift.empty())
    json.key("drift").array(record.drift, [&](const DriftRecord& d) {
      json.open('[').string(d.tensor).integer(d.step).integer(d.elements).integer(d.nonfinite);
      json.number(d.max_abs).number(d.relative_l2).number(1 - d.cosine);
      d.max_bound_ratio ? json.number(*d.max_bound_ratio) : json.nothing();
      json.close(']');
    });
  if (!record.trajectories.empty())
    json.key("trajectories").array(record.trajectories, [&](const Trajectory& t) {
      json.open('{').key("tensor").string(t.tensor);
      write_numbers(json, "device", t.device, 6);
      write_numbers(json, "reference", t.reference, 6);
      json.close('}');
    });
  if (!record.call_times.empty())
    json.key("times").array(record.call_times, [&](const CallTime& t) {
      json.open('[').string(t.op).string(t.path).integer(t.calls);
      json.number(t.device_seconds).number(t.reference_seconds).close(']');
    });
}

}  // namespace

std::string page_detail(const Record& record) {
  PageJson json;
  json.open('{').key("repro").string(record.repro);
  json.key("outputs").array(record.outputs, [&](const OutputRecord& output) { write_output(json, output); });
  if (!record.guard_damage.empty())
    json.key("guards").array(record.guard_damage, [&](const GuardDamage& g) {
      json.open('[').string(g.tensor).integer(g.byte_offset).integer(g.bytes).close(']');
    });
  if (!record.reruns.empty())
    json.key("reruns").array(record.reruns, [&](const Rerun& r) {
      json.open('[').string(name_of(r.verdict)).string(r.reason).number(r.max_bound_ratio).number(r.seconds);
      json.close(']');
    });
  write_order(json, record.order);
  write_drift(json, record);
  write_numbers(json, "device_seconds", record.device_seconds);
  write_numbers(json, "host_seconds", record.host_seconds);
  json.key("judge_seconds").number(record.judge_seconds).key("flops").number(record.flops);
  json.key("bytes").number(record.bytes);
  const auto pairs = [&](const char* name, const std::map<std::string, std::string>& map) {
    if (map.empty()) return;
    json.key(name).array(
        map, [&](const auto& entry) { json.open('[').string(entry.first).string(entry.second).close(']'); });
  };
  pairs("hashes", record.input_hashes);
  pairs("inputs", record.provenance.inputs);
  if (!record.provenance.profile.empty()) json.key("profile").string(record.provenance.profile);
  return json.close('}').take();
}

}  // namespace parity
