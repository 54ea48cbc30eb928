#pragma once
#include <cmath>

#include "harness/ladder/record.hpp"

namespace parity {

/// A record with every field set to something that is not its default, for tests.
inline Record sample_record(Verdict verdict = Verdict::fail) {
  Record r;
  r.case_text = "gemm m=2 n=3 k=5 in=f16 acc=f32 out=f16 fill=normal seed=18446744073709551615";
  r.stage = "gemm";
  r.path = "tiled_f16_f32";
  r.rung = 1;
  r.device = {"vulkan:1",    "vulkan",     "A \"quoted\" <device> & more",
              "driver\t1.0", "Vulkan 1.4", {{"limits", "shared", "32 KiB"}, {"numerics", "float16", "yes"}}};
  r.verdict = verdict;
  r.reason = "17 elements beyond the hard bound ]]> \x01 \xff";
  OutputRecord o;
  o.call = 2;
  o.op = "gemm";
  o.path = r.path;
  o.tensor = "D";
  o.shape = {2, 3};
  o.dtype = DType::f16;
  o.bits = 0x9f3;
  o.contract.store = DType::f16;
  o.contract.exact = true;
  o.contract.order_known = true;
  o.contract.store_rounding_known = false;
  o.contract.store_rounding = Rounding::toward_zero;
  o.contract.store_rounds = false;
  o.contract.alpha = 1e-9;
  o.contract.untrusted_zero_fraction = 0.75;
  Judgement& j = o.judgement;
  j.verdict = verdict;
  j.reasons = {"one", "two"};
  ErrorStatistics& s = j.statistics;
  s.elements = 6;
  s.nan = 1;
  s.inf = 2;
  s.unexpected_nonfinite = 3;
  s.missing_nan = 4;
  s.unwritten = 5;
  s.zeros_want = 1;
  s.max_abs = HUGE_VAL;
  s.mean_abs = 0.1;
  s.mean_signed = -1.0 / 3;
  s.rms = 4.9406564584124654e-324;
  s.max_relative = 1.7976931348623157e308;
  s.relative_l2 = 1e-300;
  s.norm_ratio = 0.99999999999999989;
  s.nmse = 2e-16;
  s.cosine = std::nan("");
  s.cosine_worst_row = -HUGE_VAL;
  s.max_bound_ratio = 1e30;
  s.max_hard_ratio = 7;
  s.outside_spread = 9007199254740993;
  s.outside_hard = 8;
  s.ulp_quantiles = {0.5, 1, 2, 3, 4};
  for (std::size_t i = 0; i < s.ulp_histogram.size(); ++i)
    s.ulp_histogram[i] = static_cast<std::int64_t>(i * i + 1);
  s.worst = {{5, 0, 1, 2, std::nan(""), 1.25, 0.5, HUGE_VAL, 0x7e01}, {1, 0, 0, 1, -2, 1, 0.5, 6, 0xc000}};
  j.aggregates = {{AggregateFinding::Scope::tile, 3, 4, AggregateFinding::Kind::spread, 12.5},
                  {AggregateFinding::Scope::column, 0, 7, AggregateFinding::Kind::bias, -6.5}};
  j.worst_aggregate = 12.5;
  j.location = {"column 2", 17, 1, 2, 3, 4, 5, 6};
  j.replay = {true, "sequential fma", true, true, 6, 4, 9, "a note"};
  j.map = ErrorMap{2, 3, 1, 1, {0.5, HUGE_VAL, 2, 0, 1000, 0.25}};
  j.predicted_ulp = std::vector<double>(49, 0.125);
  o.power = {{"zeroed", "x 2"}, {"x 1.01"}, {"row dropped"}};
  r.outputs = {o};
  r.guard_damage = {{"D", -16, 8}};
  r.input_hashes = {{"A", "0123"}, {"B", "4567"}};
  r.order.run_to_run = OrderSpread{3, 12, false, 2, 5, 1, 1, 0.5, 0.25, 3, 0.75, 11};
  r.order.permutation = OrderSpread{2, 6, true, 0, -1, 0, 0, 0, 0, 0, 0, 6};
  r.order.ensemble = OrderSpread{9, 48, false, 40, 0, 0, 4, 2, 1, 3, 1, 48};
  r.order.experiments = {
      {"gemm", r.path, "split 4", "k", "D", OrderSpread{2, 6, false, 3, 1, 0, 2, 1, 0.5, 3, 0.75, 6}},
      {"gemm", r.path, "alone", "rows", "D", OrderSpread{2, 6, true, 0, -1, 0, 0, 0, 0, 0, 0, 0}}};
  r.order.notes = {"no batch"};
  r.notes = {"gemm -> D: wrong results would pass"};
  r.reruns = {{Verdict::suspect, "3 elements outside the spread", 1.5, 0.25}, {Verdict::pass, "", 0.5, 0}};
  r.device_seconds = {0.5, 0.25};
  r.host_seconds = {1, 2, 3};
  r.judge_seconds = 0.125;
  r.reference_seconds = 0.0625;
  r.flops = 60;
  r.bytes = 44;
  r.repro = "parity run --case 'gemm m=2' --device vulkan:1 --path tiled_f16_f32";
  r.provenance = {"abc", "0.1", "-O2", "g++", "2026-01-01T00:00:00Z", {{"A", "a.npy #1"}}};
  return r;
}

}  // namespace parity
