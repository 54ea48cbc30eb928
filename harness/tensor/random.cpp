#include "harness/tensor/random.hpp"

#include <bit>
#include <cmath>

namespace parity {
namespace {

/// Natural logarithm for positive normal x: m * 2^e with m in [sqrt(1/2), sqrt(2)), then
/// log m = 2 atanh((m-1)/(m+1)) by its series; |s| < 0.1716, so 12 terms leave less than 1e-18.
double log_exact_bits(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffU) | 0x3ff0000000000000U);
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 0.0;
  for (int n = 23; n >= 1; n -= 2) series = series * s2 + 1.0 / static_cast<double>(n);
  return static_cast<double>(exponent) * 0.6931471805599453 + 2.0 * s * series;
}

/// Horner's rule, highest power first.
template <int n>
double polynomial(const double (&coefficient)[n], double x) {
  double value = coefficient[0];
  for (int i = 1; i < n; ++i) value = value * x + coefficient[i];
  return value;
}

}  // namespace

PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high);
  std::uint32_t c3 = static_cast<std::uint32_t>(counter_high >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

double uniform_open(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t cell = ((static_cast<std::uint64_t>(high) << 32) | low) >> 12;
  return (static_cast<double>(cell) + 0.5) * 0x1p-52;
}

std::uint64_t below(std::uint64_t n, std::uint32_t high, std::uint32_t low) {
  __extension__ using Wide = unsigned __int128;
  const Wide word = (static_cast<Wide>(high) << 32) | low;
  return static_cast<std::uint64_t>((word * n) >> 64);
}

double normal_quantile(double p) {
  static constexpr double a[] = {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                                 4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                 1.3314166789178437745e+2, 3.3871328727963666080e+0};
  static constexpr double b[] = {
      5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
      5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0};
  static constexpr double c[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                 2.41780725177450611770e-1, 1.27045825245236838258e+0,
                                 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                                 4.63033784615654529590e+0, 1.42343711074968357734e+0};
  static constexpr double d[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                 1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                 6.89767334985100004550e-1, 1.67638483018380384940e+0,
                                 2.05319162663775882187e+0, 1.0};
  static constexpr double e[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                 1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                 2.96560571828504891230e-1, 1.78482653991729133580e+0,
                                 5.46378491116411436990e+0, 6.65790464350110377720e+0};
  static constexpr double f[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                 1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                 1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                 5.99832206555887937690e-1,  1.0};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double tail = q < 0.0 ? p : 1.0 - p;
  const double r = std::sqrt(-log_exact_bits(tail));
  const double magnitude = r <= 5.0 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                                    : polynomial(e, r - 5.0) / polynomial(f, r - 5.0);
  return q < 0.0 ? -magnitude : magnitude;
}

std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t key, std::uint64_t tweak) {
  if (n <= 1) return 0;
  const int half = (static_cast<int>(std::bit_width(n - 1)) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = i >> half;
    std::uint64_t right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const PhiloxBlock block = philox(key, right, (tweak << 2) | round);
      const std::uint64_t next = left ^ (block.word[0] & mask);
      left = right;
      right = next;
    }
    i = (left << half) | right;
  } while (i >= n);
  return i;
}

}  // namespace parity
