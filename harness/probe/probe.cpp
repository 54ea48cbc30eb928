#include "harness/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/numerics/tree_description.hpp"
#include "harness/numerics/tree_order.hpp"
#include "harness/probe/call_runner.hpp"
#include "harness/probe/integer_probes.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {

namespace {

using Outcome = Revelation::Outcome;

constexpr std::int64_t most_replayed = 65536;  // elements

/// Tries the scales in turn: the first whose masks work is kept.
Result<Revelation> reveal_by_masks(const ProbedReduction& reduction, const RevealOptions& options,
                                   std::string& scale_text) {
  Revelation last;
  last.outcome = Outcome::not_visible;
  last.why = "no masks fit the formats";
  for (const MaskScale& scale : reduction.scales) {
    const MaskOracle oracle = reduction.masks(scale);
    auto check = check_masks(reduction.terms, scale.window, oracle);
    if (!check) return check;
    if (check->outcome != Outcome::revealed) {
      last = *std::move(check);
      last.why = fmt::format("{}: {}", to_string(scale), last.why);
      continue;
    }
    scale_text = to_string(scale);
    return reveal_tree(reduction.terms, count_by_masks(reduction.terms, scale.window, oracle), options);
  }
  return last;
}

void compare_with_declared(const Implementation& implementation, ReductionFinding& finding) {
  const bool binds = implementation.knowledge == OrderKnowledge::declared;
  bool equal = false;
  for (const ArithmeticModel& model : implementation.replays) {
    if (!model.accumulation) continue;
    const auto tree = tree_of(*model.accumulation, finding.terms);
    if (!tree) continue;
    const std::string name = describe(*tree);
    if (std::ranges::find(finding.declared, name) == finding.declared.end()) finding.declared.push_back(name);
    equal = equal || (finding.revelation.tree && *tree == *finding.revelation.tree);
  }
  if (finding.declared.empty()) return;
  const std::string declared = fmt::format("{}", fmt::join(finding.declared, " or "));
  switch (finding.revelation.outcome) {
    case Outcome::revealed:
      finding.agrees = equal;
      if (!equal && binds)
        finding.contradiction = fmt::format("declared {}; revealed {}", declared, finding.order);
      break;
    case Outcome::not_reproducible:
    case Outcome::no_single_tree:
      finding.agrees = false;
      if (binds) finding.contradiction = fmt::format("declared {}; {}", declared, finding.revelation.why);
      break;
    case Outcome::any_order:
    case Outcome::not_visible:
      break;
  }
}

/// The store in which a result is replayed: the one that shows most of the accumulator, which of an fp16
/// accumulator is fp16 itself. There a library that adds up in fp32 all the same can be told as well.
DType replayed_store(const Implementation& implementation) {
  const auto& stores = implementation.stores;
  const bool narrow = implementation.accumulate == DType::f16 && std::ranges::count(stores, DType::f16) > 0;
  return narrow ? DType::f16 : widest_store(implementation);
}

/// The call on normal data: the device's result, and its inputs on the host.
Result<TreeReplay> replay_tree(const OpTable& ops, Device& device, const Implementation& implementation,
                               const ProbeSize& size, const SummationTree& tree, std::uint64_t seed) {
  TreeReplay replayed;
  const bool product = implementation.op == "gemm" || implementation.op == "linear";
  const bool column = implementation.op == "gradient_reduction";
  if (!product && !column) {
    replayed.note = "the result goes through a function whose rounding is not known to the bit";
    return replayed;
  }
  const Op* op = ops.find(implementation.op);
  if (op == nullptr) return fail(ErrorKind::internal, fmt::format("no op is called {}", implementation.op));
  const DType store = replayed_store(implementation);
  const bool linear = implementation.op == "linear";
  // The shape that was asked: another one may be another kernel's.
  const Shape right = linear ? Shape{size.cols, size.terms} : Shape{size.terms, size.cols};
  std::vector<ProbePort> ports, results;
  if (column) {
    ports.push_back({"X", store, {size.terms, size.rows}});
    results.push_back({"Y", store, {size.rows}});
  } else {
    ports.push_back({"A", implementation.input, {size.rows, size.terms}});
    ports.push_back({"B", implementation.input, right});
    ports.push_back({});
    results.push_back({"D", store, {size.rows, size.cols}});
  }
  auto runner = CallRunner::load(device, implementation, {}, ports, results);
  if (!runner) return tl::unexpected(runner.error());
  FillRequest request;
  request.seed = seed;
  request.reduction_length = size.terms;
  request.accumulate = implementation.accumulate;
  request.store = store;
  request.role = FillRole::left;
  request.reduction_axis = column ? 0 : 1;
  fill_tensor(runner->input(0), request);
  if (product) {
    request.role = FillRole::right;
    request.stream = 1;
    request.reduction_axis = linear ? 1 : 0;
    fill_tensor(runner->input(1), request);
  }
  const auto outputs = runner->run();
  if (!outputs) return tl::unexpected(outputs.error());
  CallResult call{op, &runner->call().attributes, {}, 0, &outputs->front()};
  for (std::size_t i = 0; i < runner->call().inputs.size(); ++i) call.inputs.push_back(runner->port(i));
  auto best = replay_best(call, models_of_tree(implementation, tree),
                          choose_sample(outputs->front().shape(), most_replayed, seed));
  if (!best) {
    replayed.note = best.error().message;
    return replayed;
  }
  replayed.result = *std::move(best);
  return replayed;
}

/// Whether a sum is among the parts of an addition of so many.
bool joins_a_sum(const SummationTree& tree, std::int32_t parts) {
  for (std::int32_t i = 0; i < tree.size(); ++i) {
    const auto children = tree.children(i);
    if (std::cmp_equal(children.size(), parts) &&
        std::ranges::any_of(children, [&](std::int32_t child) { return !tree.node(child).leaf(); }))
      return true;
  }
  return false;
}

}  // namespace

Result<Revelation> reveal_reduction(const ProbedReduction& reduction, const RevealOptions& options,
                                    std::string& scale_text) {
  if (reduction.masks) return reveal_by_masks(reduction, options, scale_text);
  if (!reduction.thresholds) {
    Revelation none;
    none.outcome = Outcome::not_visible;
    none.why = reduction.cannot;
    return none;
  }
  auto check = check_thresholds(reduction.terms, reduction.thresholds);
  if (!check || check->outcome != Outcome::revealed) return check;
  return reveal_tree(reduction.terms, count_by_thresholds(reduction.terms, reduction.thresholds), options);
}

bool ProbeRecord::contradicts() const {
  return std::ranges::any_of(reductions, [](const ReductionFinding& f) { return !f.contradiction.empty(); });
}

bool ProbeRecord::revealed() const {
  return std::ranges::any_of(reductions,
                             [](const ReductionFinding& f) { return f.revelation.tree.has_value(); });
}

bool ProbeRecord::any_order() const {
  return !reductions.empty() && std::ranges::all_of(reductions, [](const ReductionFinding& f) {
    return f.revelation.outcome == Outcome::any_order;
  });
}

std::vector<ArithmeticModel> models_of_tree(const Implementation& implementation, const SummationTree& tree) {
  std::vector<Accumulation> known = accumulations_like(tree);
  constexpr std::size_t most_names = 4;  // of one tree; they differ in what a last term of its own does
  if (known.size() > most_names) known.resize(most_names);
  if (known.empty()) {
    Accumulation general;
    general.order = {SummationOrder::Kind::tree, 0, 0, std::make_shared<const SummationTree>(tree)};
    const int widest = tree.largest_fan_in();
    general.multiply_add = widest > 2 ? MultiplyAdd::multi_term : MultiplyAdd::fused;
    general.adder.terms = std::clamp(widest - 1, 1, 1024);
    known.push_back(general);
    // Where no sum is among the widest additions, all of their parts may be products.
    if (widest > 2 && !joins_a_sum(tree, widest)) {
      general.adder.terms = widest;
      known.push_back(general);
    }
  }
  std::vector<Accumulation> accumulations;
  for (Accumulation a : known) {
    if (a.multiply_add == MultiplyAdd::multi_term) {
      for (const int bits : {25, 24, 23, 26, 27, 28}) {
        a.adder.fraction_bits = bits;
        accumulations.push_back(a);
      }
    } else {
      for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate}) {
        a.multiply_add = how;
        accumulations.push_back(a);
      }
    }
  }
  // Formats and denormals as the implementation declares them.
  std::vector<ArithmeticModel> bases;
  const auto add_base = [&](ArithmeticModel model, Denormals denormals, Rounding conversion) {
    model.denormals = denormals;
    model.multiply_rounding = conversion;
    model.may_truncate = false;
    model.precision.store = replayed_store(implementation);
    const bool there = std::ranges::any_of(bases, [&](const ArithmeticModel& b) {
      return b.denormals == denormals && b.precision == model.precision &&
             b.multiply_rounding == conversion && b.contract_epilogue == model.contract_epilogue;
    });
    if (!there) bases.push_back(std::move(model));
  };
  // Where inputs are narrowed on the way to the multiplier (TF32), by cutting or by rounding: a tree does not
  // say. Nor that they are: a library may leave the tensor cores out for shapes that do not suit them, which
  // shows as a sum of two at a time.
  const auto add_bases = [&](ArithmeticModel model, Denormals denormals) {
    add_base(model, denormals, model.multiply_rounding);
    if (model.precision.accumulate == DType::f16) {
      ArithmeticModel wide = model;
      wide.precision.accumulate = DType::f32;
      add_base(wide, denormals, model.multiply_rounding);
    }
    const FloatFormat whole = format_of(model.precision.input);
    if (model.precision.multiply == whole) return;
    for (const Rounding conversion : {Rounding::nearest_even, Rounding::toward_zero})
      add_base(model, denormals, conversion);
    if (tree.largest_fan_in() > 2) return;
    model.precision.multiply = whole;
    add_base(model, denormals, Rounding::nearest_even);
  };
  for (const ArithmeticModel& model : implementation.replays) add_bases(model, model.denormals);
  const Denormals contract = implementation.contract.denormals;
  if (bases.empty())
    for (const Denormals denormals : {Denormals::preserve, Denormals::flush})
      if (contract == denormals || contract == Denormals::either)
        add_bases(implementation.contract, denormals);
  std::vector<ArithmeticModel> models;
  for (const Accumulation& accumulation : accumulations) {
    for (ArithmeticModel model : bases) {
      model.accumulation = accumulation;
      if (accumulation.multiply_add == MultiplyAdd::multi_term && model.precision.accumulate == DType::f16) {
        // To nearest, as published of tensor cores, or cut as their fp32 sums are.
        model.accumulation->adder.rounding = Rounding::nearest_even;
        models.push_back(model);
        model.accumulation->adder.rounding = Rounding::toward_zero;
      }
      models.push_back(std::move(model));
    }
  }
  return models;
}

Result<ProbeRecord> probe_implementation(const OpTable& ops, Device& device,
                                         const Implementation& implementation, const ProbeSize& size,
                                         const RevealOptions& options) {
  ProbeRecord record;
  record.op = implementation.op;
  record.path = implementation.path;
  record.device = device.info().id;
  record.input = implementation.input;
  record.accumulate = implementation.accumulate;
  record.store = widest_store(implementation);
  record.size = size;
  if (sums_integers(implementation.contract)) {
    auto finding = probe_integers(device, implementation, size, options.seed);
    if (!finding) return tl::unexpected(finding.error());
    record.reductions.push_back(*std::move(finding));
    record.replay.note = "every order gives the same bits";
    return record;
  }
  const auto reductions = probed_reductions(device, implementation, size);
  if (!reductions) return tl::unexpected(reductions.error());
  for (const ProbedReduction& reduction : *reductions) {
    ReductionFinding finding;
    finding.name = reduction.name;
    finding.method = reduction.method;
    finding.terms = reduction.terms;
    auto revelation = reveal_reduction(reduction, options, finding.scale);
    if (!revelation) return tl::unexpected(revelation.error());
    finding.revelation = *std::move(revelation);
    if (finding.revelation.tree) finding.order = describe(*finding.revelation.tree);
    compare_with_declared(implementation, finding);
    record.reductions.push_back(std::move(finding));
  }
  const auto& tree = record.reductions.front().revelation.tree;
  if (!tree) {
    record.replay.note = "there is no tree to replay";
    return record;
  }
  auto replayed = replay_tree(ops, device, implementation, size, *tree, options.seed);
  if (!replayed) return tl::unexpected(replayed.error());
  record.replay = *std::move(replayed);
  return record;
}

}  // namespace parity
