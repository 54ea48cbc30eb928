#include "harness/numerics/aggregates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "harness/numerics/block_reader.hpp"
#include "harness/numerics/element_kernel.hpp"
#include "harness/numerics/kinship.hpp"

namespace parity {
namespace {

using Scope = AggregateFinding::Scope;
using Kind = AggregateFinding::Kind;
constexpr std::array kinds{Kind::bias, Kind::magnitude, Kind::spread};
constexpr double fewest = 4;  // elements a scope must have to say more than its elements do

struct Standardised {
  double key, z, z_outward, z_square, certain;
  std::uint64_t kin;  ///< zero where the reference names none
};

/// Sums over a scope in which the certain part is taken off the whole, not off each element. Where the
/// store's noise hides it (a truncating adder's bias of a hundredth of an ulp, a million times), element by
/// element it could not be taken off. |sum of what is left of each| is never less than |sum| - sum of the
/// certain parts, so that the first look, which does it by element, misses nothing.
struct WholeSums {
  ScopeSums sums;
  double certain = 0;
};

/// Significand of |x|, in [1, 2): equal for values that differ by a power of two or in sign.
double significand(double x) {
  int exponent = 0;
  return 2 * std::frexp(std::fabs(x), &exponent);
}

std::vector<Standardised> standardise(const std::vector<std::int64_t>& indices, const Value& want,
                                      const BlockReader& reader, const ElementKernel& kernel) {
  std::vector<Standardised> result;
  result.reserve(indices.size());
  const auto block = std::make_unique<ElementBlock>();
  ElementBlock& b = *block;
  std::array<std::uint64_t, ElementBlock::capacity> kin{};
  for (std::size_t start = 0; start < indices.size(); start += ElementBlock::capacity) {
    const std::size_t n = std::min(ElementBlock::capacity, indices.size() - start);
    std::size_t filled = 0;
    for (std::size_t i = 0; i < n; ++i) {
      reader.load_one(b, filled, indices[start + i]);
      if (!want.row_kin.empty()) kin[filled] = kin_of(want, indices[start + i]);
      if (std::isfinite(b.got[filled]) && std::isfinite(b.v[filled])) ++filled;
    }
    for (std::size_t i = filled; i < (filled + 7) / 8 * 8 && i < ElementBlock::capacity; ++i) {
      b.got[i] = b.v[i] = b.hard[i] = b.systematic[i] = b.mean[i] = b.variance[i] = 0;
    }
    kernel.evaluate(b, filled);
    for (std::size_t i = 0; i < filled; ++i) {
      if (b.counts[i] == 0) continue;
      const double outward = b.v[i] < 0 ? -b.z_whole[i] : b.z_whole[i];
      result.push_back({significand(b.v[i]), b.z_whole[i], outward, b.z_square[i], b.z_certain[i], kin[i]});
    }
  }
  return result;
}

/// References this close, relative, count as copies of each other: four ulp of fp32, or sixteen times denser
/// than evenly spread. Saturated gates leave factors of 1 - k 2^-24 with small k; a row of their products
/// with one number errs alike, not at random.
double alike(std::size_t elements) {
  return std::max(0x1p-21, 1 / (16 * static_cast<double>(elements)));
}

/// Elements that were summed from the same products, merged into their mean.
std::vector<Standardised> kin_merged(std::vector<Standardised> elements) {
  std::sort(elements.begin(), elements.end(),
            [](const Standardised& a, const Standardised& b) { return a.kin < b.kin; });
  std::vector<Standardised> result;
  for (std::size_t i = 0; i < elements.size();) {
    Standardised mean = elements[i];
    double count = 1;
    for (++i; i < elements.size() && elements[i].kin == mean.kin; ++i, ++count) {
      mean.z += elements[i].z;
      mean.z_outward += elements[i].z_outward;
      mean.z_square += elements[i].z_square;
      mean.certain += elements[i].certain;
    }
    for (double* sum : {&mean.z, &mean.z_outward, &mean.z_square, &mean.certain}) *sum /= count;
    result.push_back(mean);
  }
  return result;
}

/// The sums again, with elements of (nearly) equal reference merged into their mean.
WholeSums merged_sums(std::vector<Standardised> elements) {
  std::sort(elements.begin(), elements.end(),
            [](const Standardised& a, const Standardised& b) { return a.key < b.key; });
  WholeSums whole;
  const double close = alike(elements.size());
  for (std::size_t i = 0; i < elements.size();) {
    ScopeSums group;
    double certain = 0;
    const double key = elements[i].key;
    for (; i < elements.size() && elements[i].key - key <= close; ++i) {
      group.add({1, elements[i].z, elements[i].z_outward, elements[i].z_square});
      certain += elements[i].certain;
    }
    whole.sums.add({1, group.z / group.count, group.z_outward / group.count, group.z_square / group.count});
    whole.certain += certain / group.count;
  }
  return whole;
}

/// What is left of a sum beyond its certain part.
double beyond(double sum, double certain) {
  return std::copysign(std::max(std::fabs(sum) - certain, 0.0), sum);
}

bool worse_than(const AggregateFinding& a, const AggregateFinding& b) {
  if (a.deviate != b.deviate) return a.deviate > b.deviate;
  if (a.scope != b.scope) return a.scope > b.scope;
  if (a.batch != b.batch) return a.batch < b.batch;
  if (a.index != b.index) return a.index < b.index;
  return a.kind < b.kind;
}

std::optional<AggregateFinding> worst_of(const ScopeSums& sums, Scope scope, std::int64_t batch,
                                         std::int64_t index) {
  if (sums.count < fewest) return std::nullopt;
  AggregateFinding worst{scope, batch, index, Kind::bias, -1};
  for (const Kind kind : kinds) {
    const double d = deviate(sums, kind);
    if (d > worst.deviate) worst.kind = kind, worst.deviate = d;
  }
  return worst;
}

}  // namespace

std::vector<std::int64_t> elements_of(const AggregateFinding& f, const Value& want, const Measurement& m,
                                      std::int64_t most) {
  std::int64_t row = 0, rows = want.rows, column = 0, columns = want.cols, first = f.batch, batches = 1;
  switch (f.scope) {
    case Scope::row:
      row = f.index, rows = 1;
      break;
    case Scope::column:
      column = f.index, columns = 1;
      break;
    case Scope::tile:
      row = f.index / m.tile_columns * Measurement::tile;
      column = f.index % m.tile_columns * Measurement::tile;
      rows = std::min(Measurement::tile, want.rows - row);
      columns = std::min(Measurement::tile, want.cols - column);
      break;
    case Scope::tensor:
      first = 0, batches = want.batch;
      break;
  }
  const std::int64_t total = rows * columns * batches;
  // Odd, so that no column is stepped over.
  const std::int64_t step = total <= most ? 1 : ((total + most - 1) / most) | 1;
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(total / step + 1));
  for (std::int64_t i = 0; i < total; i += step) {
    const std::int64_t c = i % columns, r = i / columns % rows, b = i / columns / rows;
    result.push_back(((first + b) * want.rows + row + r) * want.cols + column + c);
  }
  return result;
}

double deviate(const ScopeSums& sums, AggregateFinding::Kind kind) {
  const double n = sums.count;
  if (n < 1) return 0;
  switch (kind) {
    case Kind::bias:
      return std::fabs(sums.z) / std::sqrt(n);
    case Kind::magnitude:
      return std::fabs(sums.z_outward) / std::sqrt(n);
    case Kind::spread: {
      const double variance = 2 / (9 * n);
      return (std::cbrt(sums.z_square / n) - (1 - variance)) / std::sqrt(variance);
    }
  }
  return 0;
}

AggregateReport aggregate_report(const Measurement& m, const Tensor& got, const Value& want,
                                 const Contract& contract) {
  AggregateReport report;
  std::vector<AggregateFinding> candidates;
  const auto consider = [&](const std::vector<ScopeSums>& sums, Scope scope) {
    // The tensor scope has one entry for all batches.
    const auto per_batch = std::max<std::int64_t>(
        static_cast<std::int64_t>(sums.size()) / std::max<std::int64_t>(want.batch, 1), 1);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const auto f = worst_of(sums[i], scope, at / per_batch, at % per_batch);
      if (!f) continue;
      if (f->deviate > aggregate_threshold) {
        candidates.push_back(*f);
      } else {
        report.worst = std::max(report.worst, f->deviate);
      }
    }
  };
  consider(m.rows, Scope::row);
  consider(m.columns, Scope::column);
  consider(m.tiles, Scope::tile);
  consider({m.tensor}, Scope::tensor);
  if (candidates.empty()) return report;

  std::sort(candidates.begin(), candidates.end(), worse_than);
  const BlockReader reader(got, want, wants_bits(contract));
  const ElementKernel kernel(contract, want.size());
  constexpr std::size_t most = 64;
  for (const AggregateFinding& candidate : candidates) {
    if (report.findings.size() == most) break;
    auto elements = standardise(elements_of(candidate, want, m, 1 << 20), want, reader, kernel);
    if (!want.row_kin.empty()) elements = kin_merged(std::move(elements));
    const WholeSums whole = merged_sums(std::move(elements));
    ScopeSums sums = whole.sums;
    sums.z = beyond(sums.z, whole.certain);
    sums.z_outward = beyond(sums.z_outward, whole.certain);
    const auto confirmed = worst_of(sums, candidate.scope, candidate.batch, candidate.index);
    if (!confirmed) continue;
    report.worst = std::max(report.worst, confirmed->deviate);
    if (confirmed->deviate > aggregate_threshold) report.findings.push_back(*confirmed);
  }
  std::sort(report.findings.begin(), report.findings.end(), worse_than);
  return report;
}

std::string to_string(const AggregateFinding& f, const Measurement& m) {
  constexpr std::array<std::string_view, 3> kind_names{"bias", "magnitude", "spread"};
  std::string where;
  switch (f.scope) {
    case Scope::row:
      where = fmt::format("row {}", f.index);
      break;
    case Scope::column:
      where = fmt::format("column {}", f.index);
      break;
    case Scope::tile:
      where = fmt::format("tile at ({}, {})", f.index / m.tile_columns * Measurement::tile,
                          f.index % m.tile_columns * Measurement::tile);
      break;
    case Scope::tensor:
      where = "the whole tensor";
      break;
  }
  if (m.wrong.batches.size() > 1 && f.scope != Scope::tensor) where += fmt::format(" of batch {}", f.batch);
  return fmt::format("{}: {}, {:.1f} sigma", where, kind_names[static_cast<std::size_t>(f.kind)], f.deviate);
}

}  // namespace parity
