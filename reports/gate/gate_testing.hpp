#pragma once
// Records and results made up for the tests of the gate.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "reports/gate/baseline.hpp"

namespace parity::gate_testing {

/// A result whose errors are normal with this spread and mean, in units of one ulp of 1e-3.
inline OutputRecord result_with(std::uint64_t seed, std::int64_t elements, double spread, double mean = 0,
                                std::uint64_t bits = 0) {
  constexpr double ulp = 1e-3;
  OutputRecord o;
  o.op = "gemm";
  o.path = "tiled_f32";
  o.port = o.tensor = "D";
  o.bits = bits != 0 ? bits : seed;
  ErrorStatistics& s = o.judgement.statistics;
  s.elements = elements;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, spread);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const double error = spread == 0 ? 0 : normal(random);
    sum += error;
    squares += error * error;
    const int bin = error == 0 ? 0 : std::clamp(std::ilogb(std::fabs(error)) + 17, 1, 48);
    ++s.ulp_histogram[static_cast<std::size_t>(bin)];
  }
  s.rms = ulp * std::sqrt(squares / static_cast<double>(elements));
  s.mean_signed = ulp * sum / static_cast<double>(elements);
  s.max_bound_ratio = 0.4;
  return o;
}

inline Record record_of(const std::string& case_text, const std::string& path, OutputRecord output,
                        Verdict verdict = Verdict::pass) {
  Record r;
  r.case_text = case_text;
  r.path = path;
  r.stage = "gemm";
  r.verdict = verdict;
  if (verdict != Verdict::pass) r.reason = "a reason";
  r.device = {"vulkan:0", "vulkan", "A device", "Driver 570.86.15", "Vulkan 1.4", {}};
  r.input_hashes = {{"A", "01"}, {"B", "02"}};
  r.order.run_to_run = OrderSpread{};
  r.outputs = {std::move(output)};
  r.device_seconds = {0.5, 0.25};
  r.reference_seconds = 0.5;
  r.repro = "parity run --case '" + case_text + "' --device vulkan:0 --path " + path;
  r.provenance.commit = "abc";
  return r;
}

}  // namespace parity::gate_testing
