#include "harness/profile/function_measure.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/profile/exact_function.hpp"

namespace parity {

namespace {

/// Where nothing is promised: what still counts as the function's value.
constexpr double unpromised_ulp = 4;
constexpr std::size_t binades = 512;  // sign and exponent of an fp32 number

std::size_t binade_of(float a) {
  return std::bit_cast<std::uint32_t>(a) >> 23;
}

/// The same one whatever the order in which threads come: the least argument.
bool comes_first(const MeasuredArgument& a, const MeasuredArgument& b) {
  return std::bit_cast<std::uint64_t>(a.a) < std::bit_cast<std::uint64_t>(b.a);
}

void count_wrong(MeasuredClass& c, double a, double b, double got, double want) {
  const MeasuredArgument argument{a, b, got, want, 0, 0};
  if (c.wrong++ == 0 || comes_first(argument, c.first_wrong)) c.first_wrong = argument;
}

void add_class(MeasuredClass& to, const MeasuredClass& from) {
  if (from.wrong > 0 && (to.wrong == 0 || comes_first(from.first_wrong, to.first_wrong)))
    to.first_wrong = from.first_wrong;
  to.arguments += from.arguments;
  to.kept += from.kept;
  to.flushed += from.flushed;
  to.undefined += from.undefined;
  to.wrong += from.wrong;
}

}  // namespace

/// An argument with its result, as found.
struct FunctionMeter::Candidate {
  float a = 0, b = 0, got = 0;
  bool before(const Candidate& other) const {
    return std::bit_cast<std::uint32_t>(a) < std::bit_cast<std::uint32_t>(other.a);
  }
};

struct FunctionMeter::Tally {
  std::array<double, binades> worst{}, absolute{};
  std::array<Candidate, binades> at{};
  std::array<bool, binades> seen{};
  std::int64_t arguments = 0, regular = 0, not_rounded = 0, not_a_number = 0, breaks = 0;
  double max_ratio = 0;     ///< error over what is promised
  double worst_excess = 0;  ///< the same, of those beyond it
  Candidate worst_break;
  std::vector<Candidate> near_limit;  ///< too near to what is promised for fp64 to decide
  std::vector<Candidate> near_half;   ///< too near to half an ULP
  MeasuredClass subnormal_arguments, subnormal_results, specials;

  void keep_worse(std::size_t binade, double error, const Candidate& here);
  void keep_worse_break(const Candidate& here, double excess);
  void note_break(const Candidate& here, double excess) {
    keep_worse_break(here, excess);
    ++breaks;
  }
  void merge(const Tally& other);
};

void FunctionMeter::Tally::keep_worse(std::size_t binade, double error, const Candidate& here) {
  if (seen[binade]) {
    if (error < worst[binade]) return;
    if (error == worst[binade] && !here.before(at[binade])) return;
  }
  seen[binade] = true;
  worst[binade] = error;
  at[binade] = here;
}

void FunctionMeter::Tally::keep_worse_break(const Candidate& here, double excess) {
  if (breaks > 0) {
    if (excess < worst_excess) return;
    if (excess == worst_excess && !here.before(worst_break)) return;
  }
  worst_excess = excess;
  worst_break = here;
}

void FunctionMeter::Tally::merge(const Tally& other) {
  for (std::size_t i = 0; i < binades; ++i) {
    if (!other.seen[i]) continue;
    keep_worse(i, other.worst[i], other.at[i]);
    absolute[i] = std::max(absolute[i], other.absolute[i]);
  }
  if (other.breaks > 0) keep_worse_break(other.worst_break, other.worst_excess);
  arguments += other.arguments;
  regular += other.regular;
  max_ratio = std::max(max_ratio, other.max_ratio);
  not_rounded += other.not_rounded;
  not_a_number += other.not_a_number;
  breaks += other.breaks;
  near_limit.insert(near_limit.end(), other.near_limit.begin(), other.near_limit.end());
  near_half.insert(near_half.end(), other.near_half.begin(), other.near_half.end());
  add_class(subnormal_arguments, other.subnormal_arguments);
  add_class(subnormal_results, other.subnormal_results);
  add_class(specials, other.specials);
}

FunctionMeter::FunctionMeter(DeviceFunction function, DType format, Promise promise, bool may_flush)
    : function_(function),
      format_(format_of(format)),
      may_flush_(may_flush),
      total_(std::make_shared<Tally>()) {
  measure_.function = function;
  measure_.format = format;
  measure_.promise = std::move(promise);
  measure_.may_flush = may_flush;
}

void FunctionMeter::judge_special(Tally& tally, double a, double b, double want, double got) const {
  MeasuredClass& c = tally.specials;
  ++c.arguments;
  bool right = false;
  if (std::isnan(want)) {
    right = std::isnan(got);
  } else if (std::isinf(want)) {
    right = got == want;
  } else {
    const double ulp = ulp_at(format_, want);
    const double limit =
        measure_.promise.given ? measure_.promise.limit_ulp(0, 1, ulp, want) : unpromised_ulp;
    right = std::fabs(got - want) <= (std::isfinite(limit) ? limit : unpromised_ulp) * ulp;
  }
  if (right)
    ++c.kept;
  else
    count_wrong(c, a, b, got, want);
}

/// A subnormal argument may count as itself or as zero; where both come to the same it tells nothing.
void FunctionMeter::judge_subnormal_argument(Tally& tally, double a, double b, double got) const {
  const double least = smallest_normal(format_), beyond = std::ldexp(1.0, format_.max_exponent + 1);
  const auto flushed = [least](double x) { return std::fabs(x) < least ? std::copysign(0.0, x) : x; };
  const bool promised = std::isfinite(measure_.promise.limit_ulp(a, b, 1, 1));
  const auto agrees = [&](double want) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(want)) return std::isinf(got);
    want = std::clamp(want, -beyond, beyond);
    const double ulp = ulp_at(format_, want), own_limit = measure_.promise.limit_ulp(a, b, ulp, want);
    if (may_flush_ && std::fabs(want) < least && got == 0) return true;
    const double allowed = std::isfinite(own_limit) ? std::max(own_limit, 0.5) : unpromised_ulp;
    return std::fabs(std::clamp(got, -beyond, beyond) - want) <= allowed * ulp;
  };
  const double want = screen_value(function_, a, b);
  const double want_flushed = screen_value(function_, flushed(a), flushed(b));
  const bool as_itself = agrees(want), as_zero = agrees(want_flushed);
  MeasuredClass& c = tally.subnormal_arguments;
  ++c.arguments;
  if (as_itself && !as_zero) ++c.kept;
  if (as_zero && !as_itself) ++c.flushed;
  if (as_zero || as_itself) return;
  // An argument that may become zero may leave the function's domain.
  if (!promised || (may_flush_ && !std::isfinite(want_flushed)))
    ++c.undefined;
  else
    count_wrong(c, a, b, got, want);
}

void FunctionMeter::judge_subnormal_result(Tally& tally, double a, double b, double want, double got) const {
  MeasuredClass& c = tally.subnormal_results;
  ++c.arguments;
  const double eta = smallest_subnormal(format_);
  const double limit = measure_.promise.limit_ulp(a, b, eta, want);
  const double allowed = std::isfinite(limit) ? std::max(limit, 0.5) : unpromised_ulp;
  const double error = std::fabs(got - want) / eta;
  if (got == 0 && error > allowed) {
    ++c.flushed;
  } else if (error <= allowed) {
    ++c.kept;
  } else if (!std::isfinite(limit)) {
    ++c.undefined;
  } else {
    count_wrong(c, a, b, got, want);
  }
}

void FunctionMeter::take_range(Tally& tally, std::span<const float> a, std::span<const float> b,
                               std::span<const float> got) const {
  const Promise& promise = measure_.promise;
  const double least = smallest_normal(format_), beyond = std::ldexp(1.0, format_.max_exponent + 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float af = a[i], bf = b.empty() ? 1.0f : b[i];
    const double x = static_cast<double>(af), y = static_cast<double>(bf), g = static_cast<double>(got[i]);
    double want = screen_value(function_, x, y);
    ++tally.arguments;
    const bool finite = std::fabs(x) < HUGE_VAL && std::fabs(y) < HUGE_VAL;
    const bool pole = std::isinf(want) && (x == 0 || y == 0);
    if (finite && ((x != 0 && std::fabs(x) < least) || (y != 0 && std::fabs(y) < least))) {
      judge_subnormal_argument(tally, x, y, g);
      continue;
    }
    if (!finite || pole || std::isnan(want)) {
      judge_special(tally, x, y, want, g);
      continue;
    }
    if (std::fabs(want) < least) {
      if (want != 0 || g != 0) judge_subnormal_result(tally, x, y, want, g);
      continue;
    }
    ++tally.regular;
    const Candidate here{af, bf, got[i]};
    if (std::isnan(g)) {
      ++tally.not_a_number;
      if (std::isfinite(promise.limit_ulp(x, y, 1, want))) tally.note_break(here, HUGE_VAL);
      continue;
    }
    want = std::clamp(want, -beyond, beyond);
    const int exponent = std::min(static_cast<int>(std::bit_cast<std::uint64_t>(want) >> 52 & 0x7ff) - 1023,
                                  format_.max_exponent);
    const double per_ulp =
        std::bit_cast<double>(static_cast<std::uint64_t>(1023 + format_.precision - 1 - exponent) << 52);
    const double error = std::fabs(std::clamp(g, -beyond, beyond) - want) * per_ulp;
    const std::size_t binade = binade_of(af);
    tally.keep_worse(binade, error, here);
    tally.absolute[binade] = std::max(tally.absolute[binade], error / per_ulp);
    if (error > 0.5 + screen_margin_ulp)
      ++tally.not_rounded;
    else if (error > 0.5 - screen_margin_ulp)
      tally.near_half.push_back(here);
    const double limit = promise.limit_ulp(x, y, 1 / per_ulp, want);
    if (error > tally.max_ratio * limit) tally.max_ratio = error / limit;
    if (error > limit + screen_margin_ulp)
      tally.note_break(here, error / limit);
    else if (error > limit - screen_margin_ulp)
      tally.near_limit.push_back(here);
  }
}

void FunctionMeter::take(std::span<const float> a, std::span<const float> b, std::span<const float> got) {
  constexpr std::size_t piece = 16384;
  const std::size_t pieces = (a.size() + piece - 1) / piece;
#pragma omp parallel if (pieces > 1)
  {
    Tally own;
#pragma omp for schedule(dynamic)
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t first = p * piece, count = std::min(piece, a.size() - first);
      take_range(own, a.subspan(first, count), b.empty() ? b : b.subspan(first, count),
                 got.subspan(first, count));
    }
#pragma omp critical(parity_function_meter)
    total_->merge(own);
  }
}

FunctionMeasure FunctionMeter::finish() {
  const Tally& total = *total_;
  FunctionMeasure& m = measure_;
  m.arguments = total.arguments;
  m.regular = total.regular;
  m.max_ratio = total.max_ratio;
  m.not_rounded = total.not_rounded;
  m.not_a_number = total.not_a_number;
  m.subnormal_arguments = total.subnormal_arguments;
  m.subnormal_results = total.subnormal_results;
  m.specials = total.specials;
  m.breaks = total.breaks;

  ExactFunction exact(function_);
  const auto measured = [&](const Candidate& c) {
    const double a = static_cast<double>(c.a), b = static_cast<double>(c.b), got = static_cast<double>(c.got);
    ++m.by_mpfr;
    MeasuredArgument argument{a, b, got, exact.value(a, b), exact.error_ulp(a, b, got, format_), 0};
    argument.limit = m.promise.limit_ulp(a, b, ulp_at(format_, argument.want), argument.want);
    return argument;
  };
  for (std::size_t i = 0; i < binades; ++i) {
    if (!total.seen[i]) continue;
    const MeasuredArgument argument = measured(total.at[i]);
    m.binades.push_back({static_cast<int>(i & 255) - 127, i >= 256, argument.ulp, total.absolute[i]});
    if (m.binades.size() == 1 || argument.ulp > m.worst.ulp) m.worst = argument;
  }
  for (const Candidate& c : total.near_half) m.not_rounded += measured(c).ulp > 0.5;
  if (m.breaks > 0) m.worst_break = measured(total.worst_break);
  for (const Candidate& c : total.near_limit) {
    const MeasuredArgument argument = measured(c);
    if (argument.ulp > argument.limit && m.breaks++ == 0) m.worst_break = argument;
  }
  return m;
}

}  // namespace parity
