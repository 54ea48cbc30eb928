#include "harness/ladder/replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "harness/numerics/adder_lanes.hpp"
#include "harness/numerics/multi_term_adder.hpp"
#include "harness/numerics/value_shape.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {

namespace {

constexpr std::int64_t screening_elements = 512;

bool same_sample(const ReplaySample& a, const ReplaySample& b) {
  return a.rows == b.rows && a.cols == b.cols;
}

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

struct Extent {
  std::int64_t batch = 1, rows = 1, cols = 1;
};
Extent extent_of(const Shape& shape) {
  Extent extent;
  if (!shape.empty()) extent.cols = shape.back();
  if (shape.size() >= 2) extent.rows = shape[shape.size() - 2];
  if (shape.size() >= 3) extent.batch = shape[shape.size() - 3];
  return extent;
}

/// The sampled rows and columns of a whole output.
Value pick(const Value& whole, const ReplaySample& sample) {
  const auto count = [](const std::vector<std::int64_t>& chosen, std::int64_t all) {
    return chosen.empty() ? all : static_cast<std::int64_t>(chosen.size());
  };
  const std::int64_t rows = count(sample.rows, whole.rows), cols = count(sample.cols, whole.cols);
  std::vector<std::int64_t> places;
  for (std::int64_t b = 0; b < whole.batch; ++b)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c) {
        const std::int64_t row = sample.rows.empty() ? r : sample.rows[static_cast<std::size_t>(r)];
        const std::int64_t col = sample.cols.empty() ? c : sample.cols[static_cast<std::size_t>(c)];
        places.push_back((b * whole.rows + row) * whole.cols + col);
      }
  return reshape(take_rows(reshape(whole, 1, whole.size(), 1), places), whole.batch, rows, cols);
}

/// The emulated output, stored, over all of it or the sub-problem of the given rows and columns. An op
/// without independent rows and columns is evaluated whole.
Result<Value> emulate(const CallResult& call, const ArithmeticModel& model, const ReplaySample& sample) {
  ArithmeticModel stored = model;
  stored.precision.store = call.got->dtype();
  const auto arithmetic = make_emulated_arithmetic(stored);
  if (!arithmetic) return tl::unexpected(arithmetic.error());
  std::vector<Tensor> held;
  PortTensors ports = call.inputs;
  if (!sample.all()) {
    auto restricted = call.op->restrict_to(*call.attributes, call.inputs, sample.rows, sample.cols);
    if (!restricted) {
      auto whole = emulate(call, model, {});
      return whole ? Result<Value>(pick(*whole, sample)) : whole;
    }
    held = *std::move(restricted);
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (ports[i] != nullptr) ports[i] = &held[i];
  }
  auto values = call.op->evaluate(**arithmetic, *call.attributes, ports);
  if (!values) return tl::unexpected(values.error());
  const Value& value = (*values)[call.output];
  if (!value.bits_known)
    return fail(ErrorKind::unsupported,
                "the result went through a function whose rounding is not known to the bit");
  return (*arithmetic)->store(value, call.got->dtype());
}

}  // namespace

std::vector<std::int64_t> choose_indices(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  std::set<std::int64_t> chosen;
  const auto add = [&](std::int64_t i) {
    if (i >= 0 && i < n && static_cast<std::int64_t>(chosen.size()) < count) chosen.insert(i);
  };
  add(0), add(n - 1);
  for (const std::int64_t tile : {128, 64, 16}) {
    add(n / tile * tile), add(n / tile * tile - 1);  // where the tail begins
    add(tile - 1), add(tile);
  }
  for (std::uint64_t i = 0; static_cast<std::int64_t>(chosen.size()) < std::min(n, count); ++i) {
    const PhiloxBlock block = philox(seed, i, 0x73616d70);  // "samp": a counter of its own
    add(static_cast<std::int64_t>(block.word[0]) % n);
  }
  return {chosen.begin(), chosen.end()};
}

ReplaySample choose_sample(const Shape& shape, std::int64_t most, std::uint64_t seed) {
  const Extent extent = extent_of(shape);
  const std::int64_t per_batch = std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, extent.batch));
  if (extent.rows * extent.cols <= per_batch) return {};
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(per_batch)));
  ReplaySample sample;
  const std::int64_t rows = std::min(extent.rows, std::max<std::int64_t>(1, std::min(side, per_batch)));
  sample.rows = choose_indices(extent.rows, rows, seed);
  sample.cols = choose_indices(extent.cols, std::max<std::int64_t>(1, per_batch / rows), seed + 1);
  return sample;
}

std::vector<ArithmeticModel> plain_chains(const ArithmeticModel& contract) {
  std::vector<ArithmeticModel> chains;
  if (contract.accumulation) return chains;
  for (const MultiplyAdd how : {MultiplyAdd::separate, MultiplyAdd::fused})
    for (const Denormals denormals : {Denormals::preserve, Denormals::flush}) {
      if (contract.denormals != Denormals::either && contract.denormals != denormals) continue;
      chains.push_back(contract);
      chains.back().accumulation = Accumulation{{}, how, {}};
      chains.back().denormals = denormals;
    }
  return chains;
}

double replay_cost(const ArithmeticModel& model, double multiply_adds) {
  if (!model.accumulation) return HUGE_VAL;
  const Accumulation& how = *model.accumulation;
  using Kind = SummationOrder::Kind;
  double factor = 1;
  if (how.multiply_add == MultiplyAdd::multi_term) {
    const AdderSteps steps{how.adder.terms, how.adder.fraction_bits, 0};
    if (!AdderArithmetic::of(model).suits_lanes() ||
        !adder_lanes_fit(steps, model.precision.multiply.precision, 0, 0, 1))
      factor = 12;
  } else if (model.precision.accumulate == DType::f16 || model.precision.accumulate == DType::bf16) {
    factor = 12;
  } else if (how.order.kind == Kind::tree || how.order.kind == Kind::pairwise) {
    factor = 5;
  } else if (model.precision.accumulate == DType::f64) {
    factor = 2;
  }
  return factor * multiply_adds;
}

namespace {

/// Adds what a band of rows, or all of a sample, says.
Result<void> compare_bits(const CallResult& call, const ArithmeticModel& model, const ReplaySample& sample,
                          ReplayResult& result) {
  auto value = emulate(call, model, sample);
  if (!value) return tl::unexpected(value.error());
  result.compared += value->size();
  const Extent extent = extent_of(call.got->shape());
  std::int64_t equal = 0;
  const std::int64_t lines = value->batch * value->rows;
#pragma omp parallel for schedule(static) reduction(+ : equal) if (value->size() > 32768)
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t b = line / value->rows, r = line % value->rows;
    const std::int64_t row = sample.rows.empty() ? r : sample.rows[static_cast<std::size_t>(r)];
    for (std::int64_t c = 0; c < value->cols; ++c) {
      const std::int64_t col = sample.cols.empty() ? c : sample.cols[static_cast<std::size_t>(c)];
      const double want = value->v[static_cast<std::size_t>(line * value->cols + c)];
      equal += same_number(call.got->value((b * extent.rows + row) * extent.cols + col), want);
    }
  }
  result.equal += equal;
  return {};
}

}  // namespace

Result<ReplayResult> replay(const CallResult& call, const ArithmeticModel& model,
                            const ReplaySample& sample) {
  ReplayResult result;
  result.attempted = true;
  result.model = to_string(model);
  const Extent extent = extent_of(call.got->shape());
  result.elements = call.got->elements();
  const std::int64_t band =
      std::max<std::int64_t>(256, sample.held / std::max<std::int64_t>(1, extent.batch * extent.cols));
  const bool in_bands =
      sample.all() && extent.rows > band &&
      call.op->restrict_to(*call.attributes, call.inputs, std::vector<std::int64_t>{0}, {}).has_value();
  if (!in_bands) {
    if (auto ok = compare_bits(call, model, sample, result); !ok) return tl::unexpected(ok.error());
    return result;
  }
  for (std::int64_t first = 0; first < extent.rows; first += band) {
    ReplaySample rows;
    rows.rows.resize(static_cast<std::size_t>(std::min(band, extent.rows - first)));
    std::iota(rows.rows.begin(), rows.rows.end(), first);
    if (auto ok = compare_bits(call, model, rows, result); !ok) return tl::unexpected(ok.error());
  }
  return result;
}

Result<ReplayResult> replay_best(const CallResult& call, const std::vector<ArithmeticModel>& models,
                                 const ReplaySample& sample) {
  // Most candidates give themselves away within a few hundred elements; only what fits there, or fits best,
  // is replayed over the whole sample.
  std::vector<ArithmeticModel> remaining = models;
  const ReplaySample few = choose_sample(call.got->shape(), screening_elements, 0);
  if (!few.all() && !same_sample(few, sample)) {
    std::vector<std::int64_t> equal;
    for (const ArithmeticModel& model : models) {
      auto result = replay(call, model, few);
      if (!result) return result;
      equal.push_back(result->equal);
    }
    const std::int64_t most = std::ranges::max(equal);
    remaining.clear();
    for (std::size_t i = 0; i < models.size(); ++i)
      if (equal[i] == most) remaining.push_back(models[i]);
  }
  ReplayResult best;
  best.note = "the path declares no arithmetic that could be replayed";
  for (const ArithmeticModel& model : remaining) {
    auto result = replay(call, model, sample);
    if (!result) return result;
    if (!best.attempted || result->equal > best.equal) best = *std::move(result);
    if (best.all_equal()) break;
  }
  return best;
}

std::vector<bool> replay_single_elements(const CallResult& call, const std::vector<ArithmeticModel>& models,
                                         const std::vector<std::int64_t>& elements) {
  const Extent extent = extent_of(call.got->shape());
  std::vector<bool> equal(elements.size(), false);
  if (!call.op->restrict_to(*call.attributes, call.inputs, std::vector<std::int64_t>{0}, {})) {
    for (const ArithmeticModel& model : models) {  // the whole output once, not once an element
      const auto whole = emulate(call, model, {});
      if (!whole) continue;
      for (std::size_t i = 0; i < elements.size(); ++i)
        if (same_number(whole->v[static_cast<std::size_t>(elements[i])], call.got->value(elements[i])))
          equal[i] = true;
    }
    return equal;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t col = elements[i] % extent.cols;
    const std::int64_t row = elements[i] / extent.cols % extent.rows;
    const std::int64_t batch = elements[i] / extent.cols / extent.rows;
    for (const ArithmeticModel& model : models) {
      const auto value = emulate(call, model, {{row}, {col}});
      if (value && same_number(value->v[static_cast<std::size_t>(batch)], call.got->value(elements[i]))) {
        equal[i] = true;
        break;
      }
    }
  }
  return equal;
}

}  // namespace parity
