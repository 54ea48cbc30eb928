#include "reports/statistics_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "reports/summary.hpp"

namespace parity {

std::string contract_text(const Contract& contract) {
  std::string text = fmt::format("stored as {}", name_of(contract.store));
  if (!is_float(contract.store)) return text + ", integers: every element is required to be equal";
  text += contract.exact         ? ", exact: bits are required"
          : contract.order_known ? ", order known"
                                 : ", order unknown";
  if (!contract.store_rounding_known) text += ", store rounding unknown";
  if (contract.store_rounding == Rounding::toward_zero) text += ", store truncates";
  return text;
}

std::string sampled_text(const SampledCheck& check) {
  const std::string rows =
      fmt::format("{} of {} rows compared element by element", check.rows, check.of_rows);
  if (!check.refused.empty()) return rows + "; the rest not checked: " + check.refused;
  const std::string certain =
      check.integers ? fmt::format(
                           "exact in integers: an error of {} in one "
                           "element is always seen",
                           short_number(check.certain_error))
                     : fmt::format(
                           "an error of {} in one element is certain "
                           "to be seen, on average one of {} ({} times "
                           "what the element contract allows); worst "
                           "residual {} of its threshold",
                           short_number(check.certain_error), short_number(check.typical_certain_error),
                           short_number(check.typical_certain_error / check.element_bound),
                           short_number(check.largest_ratio));
  return fmt::format(
      "{}; all {} rows by Freivalds' check, {} vectors on {} "
      "segments: {} rows and {} columns "
      "flagged; {}",
      rows, check.of_rows, check.vectors, check.segments, check.flagged_rows, check.flagged_columns, certain);
}

std::string statistics_text(const OutputRecord& output) {
  const ErrorStatistics& s = output.judgement.statistics;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<16} {}\n", name, value);
  };
  line("elements", fmt::format("{} {} {}, {} reference zeros", s.elements, name_of(output.dtype),
                               to_string(output.shape), s.zeros_want));
  line("non-finite",
       fmt::format("{} NaN, {} Inf, {} where a finite number belongs, {} NaN missing, {} never written",
                   s.nan, s.inf, s.unexpected_nonfinite, s.missing_nan, s.unwritten));
  line("error", fmt::format("max {}, mean {}, mean signed {}, rms {}", short_number(s.max_abs),
                            short_number(s.mean_abs), short_number(s.mean_signed), short_number(s.rms)));
  line("relative", fmt::format("max {}, L2 {}, NMSE {}, norm ratio {:.9g}", short_number(s.max_relative),
                               short_number(s.relative_l2), short_number(s.nmse), s.norm_ratio));
  line("cos_sim", fmt::format("{}, worst row {}", cosine_text(s.cosine), cosine_text(s.cosine_worst_row)));
  if (is_float(output.dtype)) {
    line("ulp", fmt::format("50% {}, 90% {}, 99% {}, 99.9% {}, max {}", short_number(s.ulp_quantiles[0]),
                            short_number(s.ulp_quantiles[1]), short_number(s.ulp_quantiles[2]),
                            short_number(s.ulp_quantiles[3]), short_number(s.ulp_quantiles[4])));
    line("err/bound",
         fmt::format("{} of the expected spread ({} elements outside), {} of the hard bound ({} beyond)",
                     short_number(s.max_bound_ratio), s.outside_spread, short_number(s.max_hard_ratio),
                     s.outside_hard));
  } else {
    line("integers", fmt::format("{} of {} elements differ, by at most {}", s.outside_hard, s.elements,
                                 short_number(s.max_abs)));
  }
  line("contract", contract_text(output.contract));
  if (output.sampled) line("sampled", sampled_text(*output.sampled));
  if (!output.power.missed.empty())
    line("power", fmt::format("would pass too: {}", fmt::join(output.power.missed, ", ")));
  else if (!output.power.seen.empty())
    line("power", fmt::format("sees: {}", fmt::join(output.power.seen, ", ")));
  const ReplayResult& replay = output.judgement.replay;
  if (replay.attempted)
    line("replay", fmt::format("{} of {} bits equal to {}{}{}", replay.equal, replay.compared, replay.model,
                               replay.compared < replay.elements
                                   ? fmt::format(", a sample of {} elements", replay.elements)
                                   : "",
                               replay.revealed ? ", the order that the device was asked for"
                               : replay.confirmed || replay.note.empty()
                                   ? ""
                                   : fmt::format(", which decides nothing ({})", replay.note)));
  else if (!replay.note.empty())
    line("replay", replay.note);
  return text;
}

}  // namespace parity
