#include "harness/bisect/trace_bisection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "harness/base/nearest.hpp"
#include "harness/bisect/tensor_patterns.hpp"
#include "harness/ladder/kernel_claim.hpp"
#include "harness/ladder/reference_check.hpp"
#include "harness/tensor/safetensors.hpp"

namespace parity {
namespace {

constexpr std::size_t most_trace_names = 32;

/// One op of the trace with its tensors.
struct LoadedOp {
  std::size_t index = 0;
  const TraceOp* trace = nullptr;
  const Op* op = nullptr;                         ///< null: its kind is not said
  std::map<std::string, Tensor> inputs, outputs;  ///< by port

  std::string title() const {
    return trace->name.empty() || trace->name == trace->kind
               ? fmt::format("ops[{}] {}", index, trace->kind)
               : fmt::format("ops[{}] '{}'", index, trace->name);
  }
  DType accumulate() const {
    return trace->accumulated(
        std::ranges::any_of(inputs, [](const auto& entry) { return entry.second.dtype() == DType::i8; }));
  }
};

class TraceSearch {
 public:
  TraceSearch(const OpTable& ops, std::filesystem::path folder) : ops_(ops), folder_(std::move(folder)) {}

  Result<TraceReport> run(const TraceManifest& manifest);

 private:
  Result<LoadedOp> load(std::size_t index, const TraceOp& op) const;
  Result<std::map<std::string, Tensor>> read(
      const LoadedOp& op, const std::vector<std::pair<std::string, std::string>>& ports) const;
  void look_at(const LoadedOp& op);
  void note_growth(std::size_t index, const std::string& source, DType dtype, const TensorScan& scan);
  Result<void> judge_op(const LoadedOp& op);
  Result<void> judge_output(const LoadedOp& op, const PortTensors& inputs, std::size_t port,
                            const Tensor& got);
  void blame(const LoadedOp& op, const std::string& port, const ExaminedCall& examined,
             std::vector<std::string> checks = {});

  const OpTable& ops_;
  std::filesystem::path folder_;
  CopyFinder copies_;
  TraceReport result_;
};

/// "x.npy" and "w.safetensors:layer" are relative to the folder.
Result<std::map<std::string, Tensor>> TraceSearch::read(
    const LoadedOp& op, const std::vector<std::pair<std::string, std::string>>& ports) const {
  std::map<std::string, Tensor> tensors;
  for (const auto& [port, source] : ports) {
    auto tensor = read_tensor((folder_ / source).string());
    if (!tensor)
      return fail(tensor.error().kind, fmt::format("{}, {}: {}", op.title(), port.empty() ? "tensor" : port,
                                                   tensor.error().message));
    tensors.emplace(port, *std::move(tensor));
  }
  return tensors;
}

Result<LoadedOp> TraceSearch::load(std::size_t index, const TraceOp& op) const {
  LoadedOp loaded{index, &op, nullptr, {}, {}};
  if (!op.kind.empty()) {
    loaded.op = ops_.find(op.kind);
    if (loaded.op == nullptr) {
      std::vector<std::string_view> names;
      for (const auto& known : ops_.all()) names.push_back(known->name());
      return bad_input(
          fmt::format("{}: no op is called '{}'{}; docs/operations.md lists them; leave \"op\" out to "
                      "have its tensors looked at only",
                      loaded.title(), op.kind, suggestion(op.kind, names)));
    }
  }
  auto inputs = read(loaded, op.inputs);
  if (!inputs) return tl::unexpected(inputs.error());
  auto outputs = read(loaded, op.outputs);
  if (!outputs) return tl::unexpected(outputs.error());
  loaded.inputs = *std::move(inputs);
  loaded.outputs = *std::move(outputs);
  return loaded;
}

void TraceSearch::blame(const LoadedOp& loaded, const std::string& port, const ExaminedCall& examined,
                        std::vector<std::string> checks) {
  const Tensor& got = loaded.outputs.at(port);
  Producer p;
  p.call = loaded.index;
  p.op = loaded.trace->name.empty() ? "tensor" : loaded.trace->name;
  p.path = loaded.op != nullptr ? std::string(loaded.op->name()) : "an op whose kind is not said";
  p.precision = fmt::format("{} accumulated, {} stored", name_of(loaded.accumulate()), name_of(got.dtype()));
  p.port = port;
  for (const auto& [name, source] : loaded.trace->outputs)
    if (name == port) p.tensor = source;
  p.index = place_in(got.shape(), examined.element);
  p.elements = got.elements();
  p.examined = examined;
  p.checks = std::move(checks);
  p.title = loaded.trace->name;
  p.kind = loaded.trace->kind, p.accumulate = loaded.accumulate();
  p.attributes = loaded.trace->attributes;
  for (const auto& [name, source] : loaded.trace->inputs) {
    const Tensor& tensor = loaded.inputs.at(name);
    p.inputs.push_back({name, source, tensor.dtype(), scan_tensor(tensor)});
    p.tensors.emplace(name, tensor);
  }
  for (const auto& [name, tensor] : loaded.outputs) p.tensors.emplace("got:" + name, tensor);
  result_.report.producer = std::move(p);
  using Kind = BisectReport::Kind;
  result_.report.kind = examined.cause.kind == CauseKind::reference     ? Kind::reference_at_fault
                        : examined.cause.kind == CauseKind::wrong_value ? Kind::out_of_contract
                                                                        : Kind::not_finite;
}

/// "layer#_h.npy" of "layer12_h.npy": tensors of one place in a repeated layer or timestep.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      text += c;
    else if (text.empty() || text.back() != '#')
      text += '#';
  }
  return text;
}

/// One line a type of element along the ops, and one for each name that comes back with other numbers.
void TraceSearch::note_growth(std::size_t index, const std::string& source, DType dtype,
                              const TensorScan& scan) {
  std::vector<Growth>& growth = result_.report.growth;
  const std::string every = fmt::format("all {} results", name_of(dtype)), kind = without_numbers(source);
  for (const std::string& name : {every, kind}) {
    if (name == source) continue;  // no other can have it
    auto found =
        std::ranges::find_if(growth, [&](const Growth& g) { return g.tensor == name && g.dtype == dtype; });
    if (found == growth.end()) {
      growth.push_back({name, {}, dtype, {}, {}});
      found = growth.end() - 1;
    }
    found->timesteps.push_back({static_cast<std::int64_t>(index), scan.largest, scan.nonfinite() == 0});
  }
}

/// Scans, patterns, growth; and without a kind the first output that is not finite.
void TraceSearch::look_at(const LoadedOp& loaded) {
  const bool finite_inputs = std::ranges::all_of(loaded.inputs, [](const auto& entry) {
    return !is_float(entry.second.dtype()) || scan_tensor(entry.second).nonfinite() == 0;
  });
  for (const auto& [port, source] : loaded.trace->outputs) {
    const Tensor& tensor = loaded.outputs.at(port);
    ++result_.tensors;
    result_.report.cost.bytes_read += static_cast<std::int64_t>(tensor.bytes().size());
    if (!is_float(tensor.dtype())) continue;
    const TensorScan scan = scan_tensor(tensor);
    note_growth(loaded.index, source, tensor.dtype(), scan);
    for (std::string& what : suspicious_patterns(tensor))
      result_.patterns.push_back({loaded.index, source, std::move(what)});
    if (const std::string other = copies_.copy_of(source, tensor, scan); !other.empty())
      result_.patterns.push_back(
          {loaded.index, source, fmt::format("the same bits as '{}' before it", other)});
    if (scan.nonfinite() == 0) continue;
    if (result_.report.producer) {
      ++result_.report.passed_on_count;
      if (result_.report.passed_on.size() < most_trace_names) result_.report.passed_on.push_back(source);
      continue;
    }
    if (loaded.op != nullptr || !finite_inputs) continue;
    ExaminedCall examined;
    examined.producer = true;
    examined.element = scan.first_nonfinite;
    examined.elements = scan.nonfinite();
    examined.got = tensor.value(scan.first_nonfinite);
    examined.got_bits = tensor.bits(scan.first_nonfinite);
    examined.exact = std::nan("");
    examined.cause = {
        CauseKind::kernel,
        loaded.trace->inputs.empty()
            ? std::string("the first tensor in order that is not finite; what made it is not said")
            : std::string("its inputs are finite; say its \"op\" to have it compared")};
    blame(loaded, port, examined);
  }
}

Result<void> TraceSearch::judge_output(const LoadedOp& loaded, const PortTensors& inputs, std::size_t port,
                                       const Tensor& got) {
  const std::string name(loaded.op->outputs()[port].name);
  const CallResult call{loaded.op, &loaded.trace->attributes, inputs, port, &got};
  DType input = got.dtype();
  for (const Tensor* t : inputs)
    if (t != nullptr && (is_float(t->dtype()) || t->dtype() == DType::i8)) {
      input = t->dtype();
      break;
    }
  Implementation implementation;
  implementation.op = loaded.op->name();
  implementation.input = input;
  implementation.accumulate = loaded.accumulate();
  implementation.contract =
      claimed_model({loaded.accumulate(), loaded.trace->arithmetic}, input, got.dtype());
  if (implementation.contract.accumulation) implementation.replays = {implementation.contract};
  // What the reference says of itself comes first.
  const auto accuse = [&](ExaminedCall examined) {
    std::int64_t longest = 1;  // of a sum, at most
    for (const Tensor* t : inputs)
      if (t != nullptr)
        for (const std::int64_t size : t->shape()) longest = std::max(longest, size);
    ReferenceCheck check =
        check_reference(ops_, call, implementation, static_cast<double>(got.elements() * longest));
    if (!check.contradiction.empty()) examined.cause = {CauseKind::reference, check.contradiction};
    blame(loaded, name, examined, std::move(check.made));
  };
  if (scan_tensor(got).nonfinite() > 0) {
    const auto examined = examine_nonfinite(call, implementation);
    if (!examined) return tl::unexpected(examined.error());
    if (examined->producer) accuse(*examined);
    return {};
  }
  const auto claimed = judge_claimed(call, implementation.contract);
  if (!claimed) return tl::unexpected(claimed.error());
  const Verdict verdict = claimed->judgement.verdict;
  if (verdict != Verdict::pass && verdict != Verdict::untrusted)
    accuse(examine_judgement(claimed->judgement, got));
  return {};
}

/// The op against its references, on the engine's own inputs.
Result<void> TraceSearch::judge_op(const LoadedOp& loaded) {
  PortTensors inputs;
  std::vector<std::optional<Shape>> shapes;
  for (const Port& port : loaded.op->inputs()) {
    const auto found = loaded.inputs.find(std::string(port.name));
    if (found == loaded.inputs.end() && !port.optional)
      return bad_input(
          fmt::format("{}: {} needs its input {}", loaded.title(), loaded.op->name(), port.name));
    inputs.push_back(found == loaded.inputs.end() ? nullptr : &found->second);
    shapes.push_back(found == loaded.inputs.end() ? std::nullopt
                                                  : std::optional<Shape>(found->second.shape()));
  }
  const auto known = [&](const std::string& name, std::span<const Port> ports) {
    return std::ranges::any_of(ports, [&](const Port& p) { return p.name == name; });
  };
  for (const auto& [port, tensor] : loaded.inputs)
    if (!known(port, loaded.op->inputs()))
      return bad_input(fmt::format("{}: {} has no input '{}'", loaded.title(), loaded.op->name(), port));
  for (const auto& [port, tensor] : loaded.outputs)
    if (!known(port, loaded.op->outputs()))
      return bad_input(fmt::format("{}: {} has no output '{}'", loaded.title(), loaded.op->name(), port));
  auto inferred = loaded.op->infer(loaded.trace->attributes, shapes);
  if (!inferred)
    return fail(inferred.error().kind, fmt::format("{}: {}", loaded.title(), inferred.error().message));
  ++result_.judged;
  for (std::size_t port = 0; port < loaded.op->outputs().size() && !result_.report.producer; ++port) {
    const auto got = loaded.outputs.find(std::string(loaded.op->outputs()[port].name));
    if (got == loaded.outputs.end()) continue;
    if (got->second.shape() != (*inferred)[port])
      return bad_input(fmt::format("{}: output {} has shape {}; of these inputs it is {}", loaded.title(),
                                   got->first, to_string(got->second.shape()), to_string((*inferred)[port])));
    if (auto ok = judge_output(loaded, inputs, port, got->second); !ok)
      return fail(ok.error().kind, fmt::format("{}: {}", loaded.title(), ok.error().message));
  }
  return {};
}

Result<TraceReport> TraceSearch::run(const TraceManifest& manifest) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < manifest.ops.size(); ++i) {
    auto loaded = load(i, manifest.ops[i]);
    if (!loaded) return tl::unexpected(loaded.error());
    if (loaded->op != nullptr && !result_.report.producer)
      if (auto ok = judge_op(*loaded); !ok) return tl::unexpected(ok.error());
    const bool blamed_here = result_.report.producer && result_.report.producer->call == i;
    look_at(*loaded);
    // What the producer itself left is not passed on.
    if (blamed_here && result_.report.passed_on_count > 0)
      --result_.report.passed_on_count, result_.report.passed_on.pop_back();
  }
  // A name with every result of its type says the same twice.
  std::vector<Growth>& growth = result_.report.growth;
  std::erase_if(growth, [&](const Growth& g) {
    return std::ranges::any_of(growth, [&](const Growth& all) {
      return &all != &g && all.dtype == g.dtype && all.tensor.starts_with("all ") &&
             all.timesteps.size() == g.timesteps.size();
    });
  });
  result_.report.calls = static_cast<std::int64_t>(manifest.ops.size());
  result_.report.steps = 1;
  result_.report.cost.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(result_);
}

}  // namespace

Result<TraceReport> bisect_trace(const OpTable& ops, const std::filesystem::path& folder) {
  auto manifest = read_trace_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  return TraceSearch(ops, folder).run(*manifest);
}

}  // namespace parity
