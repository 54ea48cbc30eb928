#include "harness/numerics/element_screen.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/numerics/vector_lanes.hpp"

// Why the screen never hides anything. Notation: x = v + mean, u = ulp(x), f = got - x, H = hard, E = lambda
// sigma + 0.1 |mean| + systematic; everything below in units of u.
// - The accepted interval, cut to the certain one, reaches at least c = min(E, H - |mean|) to both sides of
// x.
//   `got` is on the grid and rounding is monotone, so |f| <= c is inside however the ends are rounded. Where
//   ends go to the nearest number or outward, everything within half an ulp of the end is inside too.
// - The ratio of ElementKernel is at most |f| / (c + half_ulp * ulp(end)), and at most 1 when inside; so
//   |f| <= r (c + half_ulp * ulp(end)) cannot exceed r <= 1. The same holds for |got - v| and H.
// - ulp(end) >= u unless the end lies in a lower binade than x; where |x| is not clearly further than the
//   half-width above its binade, the ulp counts as nothing.
// - Everything is rounded to fp32 a few times; a margin of 2^-20 covers it.
// Numbers that fp32 cannot hold
//   are left to ElementKernel, as is every comparison that a NaN makes false.
// - |got - v| / |v| exceeds m only if |got - v| >= m |v| as rounded in fp64: exact, no margin.

namespace parity {
namespace {

using namespace simd;

constexpr float margin = 1 - 0x1p-20F;
constexpr float huge = 0x1p100F;
constexpr float least_variance = 0x1p-120F;
constexpr std::int64_t exponent_mask = 0x7ff0000000000000LL;

L4 bits_of(D4 x) {
  return reinterpret_cast<L4>(x);
}

/// 2^floor(log2 |x|) within the normal range of the store, as bits of a double.
struct Spacing {
  using U4 __attribute__((vector_size(32))) = std::uint64_t;  // the sum below passes 2^63
  D4 smallest;
  U4 to_reciprocal;  ///< bits of 1 / ulp(x) = this - bits of the power
  explicit Spacing(const StoreGrid& g)
      : smallest(fill(g.smallest_power)),
        to_reciprocal(U4{} + ((std::uint64_t{2046} << 52) - std::bit_cast<std::uint64_t>(g.ulp_scale) +
                              std::bit_cast<std::uint64_t>(1.0))) {}
  D4 power(D4 x) const { return larger(reinterpret_cast<D4>(bits_of(x) & exponent_mask), smallest); }
  D4 reciprocal_ulp(D4 power) const {
    return reinterpret_cast<D4>(to_reciprocal - reinterpret_cast<U4>(power));
  }
};

/// A cache line of each array, of eight elements of the next run. Arrays that stand for absent ones have no
/// next run, but an address that is never read does no harm.
inline void fetch(const ElementRun& run, std::size_t i) {
  const auto ahead = [&](const double* from) {
    // As a number: the address may lie beyond the array.
    const auto address =
        reinterpret_cast<std::uintptr_t>(from) + (static_cast<std::uintptr_t>(run.next) + i) * sizeof(double);
    __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
  };
  ahead(run.v);
  ahead(run.hard);
  ahead(run.variance);
  if (!run.offsets) return;
  ahead(run.systematic);
  ahead(run.mean);
}

struct Sums {
  D4 error_signed{}, error_absolute{}, error_square{}, got_want{}, got_got{}, want_want{}, max_abs{},
      max_ulps{};
  L4 zeros{};
};

}  // namespace

ElementScreen::ElementScreen(const Contract& contract, const ElementKernel& kernel)
    : grid_(kernel.store_grid()),
      store_(Store::exact),
      lambda_(kernel.multiplier()),
      inflation_(aggregate_inflation(contract)) {
  const EndRounding ends = kernel.ends();
  half_ulp_ = ends == EndRounding::nearest ? 0.5 : 1.0;
  inside_ulp_ = grid_.narrow && ends != EndRounding::toward_zero ? 0.5 : 0.0;
  if (!contract.store_rounds || !grid_.narrow) return;
  store_ = ends == EndRounding::nearest       ? Store::nearest
           : ends == EndRounding::toward_zero ? Store::toward_zero
                                              : Store::outward;
}

/// The part that needs fp64: errors, their sums, and the distances in units of ulp(x), rounded to fp32.
template <ElementScreen::Store store, bool offsets>
bool ElementScreen::measure(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch,
                            RunSums& result) const {
  const Spacing spacing(grid_);
  // Errors are multiples of the last bit of two doubles: a relative error below 2^-54 is zero.
  const D4 relative = fill(std::max(maxima.relative, 0x1p-60));
  const D4 tiny = fill(0x1p-50), none = fill(0x1p-600), least = fill(static_cast<double>(least_variance));
  const D4 rounder = fill(grid_.ulp_scale * 0x1.8p52);
  Sums s;

  struct Half {
    D4 off_center, center, variance, side, error, hard, extra, beyond_certain, residual, ulps;
    L4 doubtful, wrong;
  };
  const auto half = [&](const ElementRun& in, std::size_t i) __attribute__((always_inline)) {
    Half h;
    const D4 got = load<D4>(in.got + i), v = load<D4>(in.v + i), hard = load<D4>(in.hard + i),
             variance = load<D4>(in.variance + i);
    const D4 error = got - v, size = magnitude(error), zero{};
    s.error_signed += error;
    s.error_absolute += size;
    s.error_square += error * error;
    s.got_want += got * v;
    s.got_got += got * got;
    s.want_want += v * v;
    s.max_abs = larger(size, s.max_abs);
    const L4 is_zero = v == zero;
    s.zeros -= is_zero;
    const D4 power_v = spacing.power(v);
    h.ulps = size * spacing.reciprocal_ulp(power_v);
    s.max_ulps = larger(h.ulps, s.max_ulps);
    h.wrong = size > zero;
    h.doubtful = (size >= relative * magnitude(v)) & ~is_zero;
    D4 x = v + zero, power = power_v;  // never -0
    if constexpr (offsets) {
      const D4 mean = load<D4>(in.mean + i), systematic = load<D4>(in.systematic + i);
      const D4 mean_size = magnitude(mean);
      x = v + mean + zero;
      power = spacing.power(x);
      const D4 reciprocal = spacing.reciprocal_ulp(power);
      const D4 off_center = got - (v + mean), distance = magnitude(off_center);
      D4 certain = systematic + where(mean_size > zero, hard);
      h.off_center = off_center * reciprocal;
      h.error = size * reciprocal;
      h.side = (hard - mean_size) * reciprocal;
      h.extra = (0.1 * mean_size + systematic) * reciprocal;
      h.beyond_certain = (distance - certain) * reciprocal;
      h.doubtful |= (magnitude(h.off_center) < tiny) & (distance > zero);
    } else {
      h.off_center = error * spacing.reciprocal_ulp(power_v);
    }
    const D4 reciprocal = spacing.reciprocal_ulp(power);
    h.center = x * reciprocal;
    h.hard = hard * reciprocal;
    // A NaN is not `<=`, and stays one.
    h.variance = where(~(variance <= none), larger(least, variance * reciprocal * reciprocal));
    if constexpr (store == Store::nearest) {
      const D4 magic = power * rounder;
      h.residual = (((x + magic) - magic) - x) * reciprocal;
    }
    return h;
  };
  const auto group = [&](const ElementRun& in, std::size_t i, std::size_t to) __attribute__((always_inline)) {
    const Half a = half(in, i), b = half(in, i + 4);
    const auto put = [to](auto& lane, D4 x, D4 y) { simd::store(lane.data() + to, to_floats(x, y)); };
    put(scratch.off_center, a.off_center, b.off_center);
    put(scratch.center, a.center, b.center);
    put(scratch.variance, a.variance, b.variance);
    put(scratch.hard, a.hard, b.hard);
    if constexpr (offsets) {
      put(scratch.side, a.side, b.side);
      put(scratch.error, a.error, b.error);
      put(scratch.extra, a.extra, b.extra);
      put(scratch.beyond_certain, a.beyond_certain, b.beyond_certain);
    }
    if constexpr (store == Store::nearest) put(scratch.residual, a.residual, b.residual);
    // Bin of UlpHistogram: not negative, so bits 20 to 30 of the upper half are the exponent.
    const I8 field = upper_halves(a.ulps, b.ulps) >> 20;
    const I8 bin = smaller(larger(field - (1023 - 17), fill(1)), fill(48));
    const I8 is_nonzero = upper_halves(a.wrong, b.wrong);
    simd::store(scratch.bin.data() + to, is_nonzero & bin);
    const I8 tiny_error = is_nonzero & (field < 1023 - 50);
    simd::store(scratch.doubtful.data() + to, upper_halves(a.doubtful, b.doubtful) | tiny_error);
  };

  const std::size_t whole = run.count / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) group(run, i, i);
  const std::size_t rest = run.count - whole, pads = rest > 0 ? 8 - rest : 0;
  if (rest > 0) {
    // Zeros beyond the end take part in nothing but the number of zeros.
    double padded[6][8] = {};
    const double* from[6] = {run.got, run.v, run.hard, run.systematic, run.mean, run.variance};
    for (std::size_t a = 0; a < 6; ++a) std::copy_n(from[a] + whole, rest, padded[a]);
    group({padded[0], padded[1], padded[2], padded[3], padded[4], padded[5], 8, run.offsets}, 0, whole);
  }
  result.error_absolute = total(s.error_absolute);
  if (!(result.error_absolute <= std::numeric_limits<double>::max())) return false;
  result.error_signed = total(s.error_signed);
  result.error_square = total(s.error_square);
  result.vectors = {total(s.got_want), total(s.got_got), total(s.want_want)};
  result.max_abs = largest(s.max_abs);
  result.max_ulps = largest(s.max_ulps);
  result.zeros = s.zeros[0] + s.zeros[1] + s.zeros[2] + s.zeros[3] - static_cast<std::int64_t>(pads);
  return true;
}

/// The comparisons and the standardised errors, in fp32; the latter as in ElementKernel::standardise.
template <ElementScreen::Store store, bool offsets>
void ElementScreen::settle(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch,
                           ColumnBand* band, std::size_t column) const {
  constexpr bool rounds = store != Store::exact;
  const F8 lambda = fill(static_cast<float>(lambda_)), no_number{};
  const F8 half = fill(static_cast<float>(half_ulp_)), inside = fill(static_cast<float>(inside_ulp_));
  const auto allowed = [](double ratio) { return fill(static_cast<float>(std::min(ratio, 1.0)) * margin); };
  const F8 ratio = allowed(maxima.ratio), hard_ratio = allowed(maxima.hard_ratio);
  const F8 binade = fill(static_cast<float>(1 / grid_.ulp_scale));
  const F8 bias = fill(static_cast<float>(inflation_.bias)),
           spread = fill(static_cast<float>(inflation_.spread));
  const bool one_variance = inflation_.bias == inflation_.spread;
  const F8 bias_root = fill(static_cast<float>(1 / std::sqrt(inflation_.bias)));
  const F8 bias_over_spread = fill(static_cast<float>(inflation_.bias / inflation_.spread));
  F8 row_count{}, row_z{}, row_outward{}, row_square{};

  const std::size_t groups = (run.count + 7) / 8;
  // Copies: the compiler must assume that stores to the sums change what is reached through references.
  const ColumnBand::Place place = band != nullptr ? band->at(column) : ColumnBand::Place{};
  const ElementRun ahead = run;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t i = 8 * g;
    if (ahead.next != 0) fetch(ahead, i);
    const F8 off_center = load<F8>(scratch.off_center.data() + i);
    const F8 center = load<F8>(scratch.center.data() + i), variance = load<F8>(scratch.variance.data() + i);
    const F8 hard = load<F8>(scratch.hard.data() + i);
    const F8 distance = magnitude(off_center), sigma = root(variance);
    F8 error = distance, side = hard, wide = lambda * sigma, away = hard, sum = variance + hard;
    if constexpr (offsets) {
      const F8 extra = load<F8>(scratch.extra.data() + i);
      error = load<F8>(scratch.error.data() + i);
      side = load<F8>(scratch.side.data() + i);
      wide += extra;
      away += 10.0F * extra;  // at least |mean| + hard
      sum += extra;
    }
    // Where `wide` is a NaN there is no expected spread, and the certain interval remains.
    const F8 width = smaller(wide, side);
    const F8 above_binade = magnitude(center) * (1 - 0x1p-20F) - binade;
    const I8 keeps_ulp = above_binade >= width, hard_keeps_ulp = above_binade >= away;
    const F8 limit =
        smaller((width + where(keeps_ulp, inside)) * margin, (width + where(keeps_ulp, half)) * ratio);
    I8 settled = (distance <= limit) & (error <= (hard + where(hard_keeps_ulp, half)) * hard_ratio);
    settled &= sum <= huge;
    if constexpr (!rounds) settled &= (variance > least_variance) | (variance == no_number);
    settled &= ~load<I8>(scratch.doubtful.data() + i);

    // The store's residual and what of it is known (nearest), or what of it is taken off as certain.
    F8 known{}, taken{}, store_variance{};
    if constexpr (store == Store::nearest) {
      const F8 residual = load<F8>(scratch.residual.data() + i);
      settled &= magnitude(residual) <= 0.5F;  // beyond 2^900 the grid has no residual
      const F8 to_boundary = 0.5F - magnitude(residual);
      const F8 near = smaller(to_boundary / (2 * larger(sigma, fill(0x1p-60F))), fill(1.0F));
      const F8 damped = larger(smaller(1.15F - 3.4F * sigma, fill(1.0F)), no_number);
      known = residual * near * damped;
      store_variance = larger(fill(1.0F / 12), (residual - known) * (residual - known));
    } else if constexpr (store == Store::toward_zero) {
      known = flip(fill(-0.5F), sign_of(center));
      taken = fill(0.5F);
      store_variance = fill(1.0F / 12);
    } else if constexpr (store == Store::outward) {
      taken = fill(1.0F);
      store_variance = fill(1.0F / 12);
    }
    scratch.unsettled[g] = static_cast<std::uint8_t>(~sign_bits(settled));
    // rest = max(| |f| - k | - certain, 0), k the known part seen in the direction of f; `flips` where the
    // sign turns.
    const I8 direction = sign_of(off_center);
    const F8 k = flip(known, direction);
    F8 rest;
    I8 signs = direction;
    if constexpr (offsets || store == Store::toward_zero || store == Store::outward) {
      F8 beyond = distance;
      if constexpr (offsets) beyond = load<F8>(scratch.beyond_certain.data() + i);
      const F8 same = (beyond - k) - taken, other = (k - (2 * distance - beyond)) - taken;
      signs ^= (other > same) & INT32_MIN;
      rest = larger(larger(same, other), no_number);
    } else if constexpr (store == Store::nearest) {
      const F8 difference = distance - k;
      signs ^= sign_of(difference);
      rest = magnitude(difference);
    } else {
      rest = distance;
    }
    const I8 counts = (variance > no_number) & settled;
    F8 z, square;
    if constexpr (rounds) {
      z = where(counts, rest / root(bias * variance + store_variance));
      square = one_variance ? z * z : where(counts, rest * rest / (spread * variance + store_variance));
    } else {
      z = where(counts, rest * bias_root / sigma);
      square = one_variance ? z * z : z * z * bias_over_spread;
    }
    z = flip(z, signs);
    const F8 outward = flip(z, sign_of(center)), count = where(counts, fill(1.0F));
    row_count += count;
    row_z += z;
    row_outward += outward;
    row_square += square;
    if (place.counts == nullptr) continue;
    const auto accumulate = [i](float* to, F8 x) { simd::store(to + i, load<F8>(to + i) + x); };
    accumulate(place.counts, count);
    accumulate(place.z, z);
    accumulate(place.z_outward, outward);
    accumulate(place.z_square, square);
  }
  scratch.row = {total(row_count), total(row_z), total(row_outward), total(row_square)};
}

template <ElementScreen::Store store, bool offsets>
bool ElementScreen::look_as(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch,
                            RunSums& sums, ColumnBand* band, std::size_t column) const {
  if (!measure<store, offsets>(run, maxima, scratch, sums)) return false;
  settle<store, offsets>(run, maxima, scratch, band, column);
  return true;
}

bool ElementScreen::look(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch, RunSums& sums,
                         UlpHistogram& histogram, ColumnBand* band, std::size_t column) const {
  const auto as = [&]<Store store>() {
    return run.offsets ? look_as<store, true>(run, maxima, scratch, sums, band, column)
                       : look_as<store, false>(run, maxima, scratch, sums, band, column);
  };
  bool finite = false;
  switch (store_) {
    case Store::exact:
      finite = as.template operator()<Store::exact>();
      break;
    case Store::nearest:
      finite = as.template operator()<Store::nearest>();
      break;
    case Store::toward_zero:
      finite = as.template operator()<Store::toward_zero>();
      break;
    case Store::outward:
      finite = as.template operator()<Store::outward>();
      break;
  }
  if (finite) histogram.count(scratch.bin.data(), run.count);
  return finite;
}

}  // namespace parity
