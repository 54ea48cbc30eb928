#include "harness/probe/call_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/probe/probe.hpp"
#include "harness/probe/product_probes.hpp"

namespace parity {
namespace {

constexpr std::int64_t most_terms = 16384;
constexpr double most_runs = 20'000;
constexpr double most_bytes = 1e11;  // over all runs, to and from the device

/// The call's product alone.
struct Product {
  std::vector<ProbePort> inputs;
  ProbePort result;
  Attributes attributes;
  bool trans_left = false, trans_right = false;
  std::int64_t rows = 0, cols = 0, terms = 0;  ///< of one entry of the batch
};

/// Under a name of its own: one tensor may be both factors.
ProbePort port_of(const char* name, const TensorSpec& spec) {
  return {name, spec.dtype, spec.shape, spec.strides};
}

Result<Product> product_of(const FinishedCall& finished) {
  const OpCall& call = finished.program->calls[finished.index];
  const bool linear = call.op == "linear";
  if (!linear && call.op != "gemm")
    return fail(ErrorKind::unsupported, fmt::format("the sums of {} are not asked for", call.op));
  Product product;
  const auto spec = [&](TensorId id) { return finished.program->spec(id); };
  product.inputs = {port_of("left", spec(call.inputs[0])), port_of("right", spec(call.inputs[1])), {}};
  product.result = port_of("result", spec(call.outputs[0]));
  product.trans_left = !linear && call.attributes.integer("trans_a") != 0;
  product.trans_right = linear || call.attributes.integer("trans_b") != 0;
  const Shape &left = product.inputs[0].shape, &right = product.inputs[1].shape;
  if (left.size() < 2 || right.size() < 2)
    return fail(ErrorKind::unsupported, "the sums of vectors are not asked for");
  product.rows = left[left.size() - (product.trans_left ? 1 : 2)];
  product.terms = left[left.size() - (product.trans_left ? 2 : 1)];
  product.cols = right[right.size() - (product.trans_right ? 2 : 1)];
  if (!linear) {
    product.attributes.set("trans_a", std::int64_t{product.trans_left});
    product.attributes.set("trans_b", std::int64_t{product.trans_right});
    return product;
  }
  // What follows the product is another kernel's, which reads it in fp32.
  const bool followed =
      call.inputs[2] != no_tensor || call.attributes.text("activation", "identity") != "identity";
  if (followed) product.result.dtype = DType::f32, product.result.strides.clear();
  return product;
}

ProductProbes probes_of(const Product& p) {
  if (p.rows >= p.cols)
    return {0, p.rows, p.terms, p.cols, p.trans_left ? 1 : p.terms, p.trans_left ? p.rows : 1, p.cols, 1};
  return {1, p.cols, p.terms, p.rows, p.trans_right ? p.terms : 1, p.trans_right ? 1 : p.cols, 1, p.cols};
}

/// Why asking would take too long; empty: it would not. A chain is the order that takes the most questions.
std::string too_long(const Product& p, const ProductProbes& probes, std::int64_t window,
                     const RevealOptions& options) {
  if (p.terms > most_terms) return fmt::format("a sum of {} terms is too long to ask for its order", p.terms);
  const double k = static_cast<double>(p.terms), levels = 4 * std::log2(k + 1);
  const double questions = 1.4 * k * std::log2(k + 1) + 16 * k;
  const double windows = std::ceil(k / static_cast<double>(window));
  const double runs =
      options.repeats * options.passes * (questions * windows / static_cast<double>(probes.count) + levels);
  double bytes = 0;
  for (const ProbePort* port : {&p.inputs[0], &p.inputs[1], &p.result})
    bytes += static_cast<double>(element_count(port->shape).value_or(0)) *
             static_cast<double>(size_of(port->dtype));
  if (runs <= most_runs && runs * bytes <= most_bytes) return {};
  return fmt::format("asking for the order of {} terms by {} probes a run takes {:.0f} runs, {:.3g} bytes",
                     p.terms, probes.count, runs, runs * bytes);
}

Result<ConfirmedModels> ask(Device& device, const FinishedCall& finished, const RevealOptions& options) {
  const Implementation& implementation = *finished.implementation;
  if (sums_integers(implementation.contract))
    return fail(ErrorKind::unsupported, "sums of integers are the same in every order");
  auto product = product_of(finished);
  if (!product) return tl::unexpected(product.error());
  if (product->terms < 1 || product->rows < 1 || product->cols < 1)
    return fail(ErrorKind::unsupported, "there is no sum to ask for");
  const ProductProbes probes = probes_of(*product);
  ProbedReduction reduction;
  reduction.terms = product->terms;
  reduction.scales = mask_scales(product->inputs[0].dtype, implementation.accumulate);
  // A count of units must be exact in the store too.
  const std::int64_t exact = std::int64_t{1} << std::min(format_of(product->result.dtype).precision, 30);
  for (MaskScale& scale : reduction.scales) scale.window = std::min(scale.window, exact);
  if (reduction.scales.empty()) return fail(ErrorKind::unsupported, "no masks fit the formats");
  if (std::string why = too_long(*product, probes, reduction.scales.front().window, options); !why.empty())
    return fail(ErrorKind::unsupported, std::move(why));
  auto runner =
      CallRunner::load(device, implementation, product->attributes, product->inputs, {product->result});
  if (!runner) return tl::unexpected(runner.error());
  reduction.masks = [loaded = *runner, probes](const MaskScale& scale) {
    return product_oracle(loaded, probes, scale);
  };
  std::string scale;
  auto revelation = reveal_reduction(reduction, options, scale);
  if (!revelation) return tl::unexpected(revelation.error());
  if (!revelation->tree) return fail(ErrorKind::unsupported, revelation->why);
  return ConfirmedModels{models_of_tree(implementation, *revelation->tree), {}};
}

/// Calls of one key are given to one kernel.
std::string key_of(const Device& device, const FinishedCall& finished) {
  const OpCall& call = finished.program->calls[finished.index];
  std::string key =
      fmt::format("{} {} {} {} {} {} {}", device.info().id, call.op, finished.implementation->path,
                  call.attributes.integer("trans_a"), call.attributes.integer("trans_b"),
                  call.attributes.text("activation"), call.inputs[2] != no_tensor);
  for (const TensorId id : {call.inputs[0], call.inputs[1], call.outputs[0]}) {
    const TensorSpec& spec = finished.program->spec(id);
    key += fmt::format(" {} [{}] [{}]", name_of(spec.dtype), fmt::join(spec.shape, ","),
                       fmt::join(spec.strides, ","));
  }
  return key;
}

}  // namespace

ConfirmedModels CallOrders::of(Device& device, const FinishedCall& call) {
  const std::string key = key_of(device, call);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  auto asked = ask(device, call, options_);
  ConfirmedModels models;
  if (asked)
    models = *std::move(asked);
  else
    models.note = fmt::format("no order was revealed: {}", asked.error().message);
  return known_.emplace(key, std::move(models)).first->second;
}

RevealOrder make_reveal_order() {
  return [orders = std::make_shared<CallOrders>()](Device& device, const FinishedCall& call) {
    return orders->of(device, call);
  };
}

}  // namespace parity
