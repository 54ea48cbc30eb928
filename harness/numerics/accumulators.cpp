#include "harness/numerics/accumulators.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace parity {
namespace {

using Bytes __attribute__((vector_size(32))) = std::uint8_t;

/// How many of 256 bytes are `value`.
std::int64_t equal_to(std::uint8_t value, const std::array<std::uint8_t, 256>& bytes) {
  Bytes wanted{}, equal{};
  wanted += value;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Bytes)) {
    Bytes here;
    std::memcpy(&here, bytes.data() + at, sizeof(Bytes));
    equal -= reinterpret_cast<Bytes>(here == wanted);
  }
  using Words __attribute__((vector_size(32))) = std::uint64_t;
  const auto words = reinterpret_cast<Words>(equal);  // of bytes up to 8: four words would overflow one
  constexpr std::uint64_t ones = 0x0101010101010101;
  return static_cast<std::int64_t>(((words[0] + words[1]) * ones >> 56) +
                                   ((words[2] + words[3]) * ones >> 56));
}

}  // namespace

void WorstList::offer(const WorstElement& element) {
  const auto worse_than = [](const WorstElement& a, const WorstElement& b) {
    return a.ratio > b.ratio || (a.ratio == b.ratio && a.index < b.index);
  };
  list_.insert(std::upper_bound(list_.begin(), list_.end(), element, worse_than), element);
  if (list_.size() > capacity) list_.pop_back();
}

void UlpHistogram::add(const double* ulps, std::size_t count) {
  constexpr std::size_t chunk = 256;
  std::array<std::int32_t, chunk> bin;
  for (std::size_t start = 0; start < count; start += chunk) {
    const std::size_t n = std::min(chunk, count - start);
    for (std::size_t i = 0; i < n; ++i) {
      // Not negative, so the upper half without the sign is the exponent field. Bin 1 takes what is smaller.
      const auto field = static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(ulps[start + i]) >> 52);
      const std::int32_t wanted = field - 1023 + 17;
      const std::int32_t inside = wanted < 1 ? 1 : (wanted > 48 ? 48 : wanted);
      bin[i] = ulps[start + i] > 0 ? inside : 0;
    }
    this->count(bin.data(), n);
  }
}

void UlpHistogram::count(const std::int32_t* bin, std::size_t count) {
  constexpr std::size_t chunk = 256;
  for (std::size_t start = 0; start < count; start += chunk) {
    const std::size_t n = std::min(chunk, count - start);
    alignas(Bytes) std::array<std::uint8_t, chunk> bins_of;
    bins_of.fill(UINT8_MAX);                           // the places beyond the end
    std::uint8_t above_zero = UINT8_MAX, highest = 0;  // less one, so that zero counts as the largest
    for (std::size_t i = 0; i < n; ++i) {
      const auto b = static_cast<std::uint8_t>(bin[start + i]);
      const auto below = static_cast<std::uint8_t>(b - 1);
      bins_of[i] = b;
      above_zero = std::min(above_zero, below);
      highest = std::max(highest, b);
    }
    counts_[0] += equal_to(0, bins_of);
    for (std::size_t b = above_zero + 1U; b <= highest; ++b) {
      counts_[b] += equal_to(static_cast<std::uint8_t>(b), bins_of);
    }
  }
}

void UlpHistogram::add(const UlpHistogram& other) {
  for (std::size_t b = 0; b < bins; ++b) counts_[b] += other.counts_[b];
}

double VectorSums::cosine() const {
  if (got_got == 0 && want_want == 0) return 1;
  if (got_got == 0 || want_want == 0) return 0;
  return std::clamp(got_want / (std::sqrt(got_got) * std::sqrt(want_want)), -1.0, 1.0);
}

ColumnBand::ColumnBand(std::size_t columns) : columns_(columns), single_(columns) {
  for (auto* sums : {&counts_, &z_, &z_outward_, &z_square_}) sums->resize((columns + 7) / 8 * 8);
}

void ColumnBand::add(std::size_t column, const ScopeSums& element) {
  single_[column].add(element);
  any_single_ = true;
}

void ColumnBand::flush(ScopeSums* columns, ScopeSums* tiles) {
  constexpr auto width = static_cast<std::size_t>(Measurement::tile);
  for (std::size_t c = 0; c < columns_; ++c) {
    ScopeSums sums{counts_[c], z_[c], z_outward_[c], z_square_[c]};
    if (any_single_) sums.add(single_[c]);
    columns[c].add(sums);
    tiles[c / width].add(sums);
  }
  for (auto* sums : {&counts_, &z_, &z_outward_, &z_square_}) std::fill(sums->begin(), sums->end(), 0.0F);
  if (any_single_) std::fill(single_.begin(), single_.end(), ScopeSums{});
  any_single_ = false;
}

}  // namespace parity
