#include "harness/bisect/saved_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/bisect/trace_manifest.hpp"
#include "harness/tensor/file_io.hpp"
#include "harness/tensor/safetensors.hpp"

namespace parity {
namespace {

/// What runs is what was saved; there is nothing to choose.
class SavedCallsStage final : public Stage {
 public:
  explicit SavedCallsStage(const OpTable& ops) : ops_(ops) {}

  Result<void> add(const std::filesystem::path& folder, std::size_t index, const TraceOp& op);

  std::string_view name() const override { return "saved_calls"; }
  std::string_view summary() const override { return "calls that were saved, each with its own inputs"; }
  int rung() const override { return 0; }
  std::span<const Parameter> parameters() const override { return {}; }
  Result<Program> build(const Case&) const override { return program_; }
  Result<Tensor> fill(const Case&, const Program&, TensorId input) const override {
    return inputs_.at(input);
  }
  Result<Case> bind(const Case& c, const std::map<std::string, Tensor>&) const override { return c; }
  bool exact(const Case&) const override { return false; }
  Case calibration(const Case& c, DType) const override { return c; }

 private:
  TensorId tensor(std::string name, DType dtype, const Shape& shape, TensorSpec::Role role) {
    program_.tensors.push_back({std::move(name), dtype, shape, contiguous_strides(shape), role});
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  const OpTable& ops_;
  Program program_;
  std::map<TensorId, Tensor> inputs_;
};

using Sources = std::vector<std::pair<std::string, std::string>>;

/// Port `name` of a manifest's op, or nothing.
Result<std::optional<Tensor>> read_port(const std::filesystem::path& folder, const std::string& title,
                                        const Sources& sources, std::string_view name) {
  const auto source = std::ranges::find(sources, name, [](const auto& entry) { return entry.first; });
  if (source == sources.end()) return std::optional<Tensor>();
  auto tensor = read_tensor((folder / source->second).string());
  if (!tensor)
    return fail(tensor.error().kind, fmt::format("{}, {}: {}", title, name, tensor.error().message));
  return std::optional<Tensor>(*std::move(tensor));
}

Result<void> SavedCallsStage::add(const std::filesystem::path& folder, std::size_t index, const TraceOp& op) {
  const std::string title = fmt::format("ops[{}] '{}'", index, op.name);
  const Op* known = op.kind.empty() ? nullptr : ops_.find(op.kind);
  if (known == nullptr)
    return bad_input(fmt::format("{}: to run it again its \"op\" must be one of docs/operations.md{}", title,
                                 op.kind.empty() ? "" : fmt::format("; '{}' is none", op.kind)));
  OpCall call{op.kind, op.attributes, {}, {}};
  std::vector<std::optional<Shape>> shapes;
  bool reads_int8 = false;
  for (const Port& port : known->inputs()) {
    auto read = read_port(folder, title, op.inputs, port.name);
    if (!read) return tl::unexpected(read.error());
    if (!*read && !port.optional)
      return bad_input(fmt::format("{}: {} needs its input {}", title, op.kind, port.name));
    shapes.push_back(*read ? std::optional((*read)->shape()) : std::nullopt);
    call.inputs.push_back(no_tensor);
    if (!*read) continue;
    reads_int8 |= (*read)->dtype() == DType::i8;
    call.inputs.back() = tensor(fmt::format("{}.{}", index, port.name), (*read)->dtype(), (*read)->shape(),
                                TensorSpec::Role::input);
    inputs_.emplace(call.inputs.back(), **std::move(read));
  }
  const DType accumulate = op.accumulated(reads_int8);
  if (program_.calls.empty()) program_.accumulate = accumulate;
  if (accumulate != program_.accumulate)
    return bad_input(fmt::format("{} accumulates in {}, those before it in {}: one run takes one format",
                                 title, name_of(accumulate), name_of(program_.accumulate)));
  const auto inferred = known->infer(op.attributes, shapes);
  if (!inferred) return fail(inferred.error().kind, fmt::format("{}: {}", title, inferred.error().message));
  for (std::size_t port = 0; port < known->outputs().size(); ++port) {
    const std::string_view name = known->outputs()[port].name;
    const auto saved = read_port(folder, title, op.outputs, name);
    if (!saved) return tl::unexpected(saved.error());
    if (!*saved)
      return bad_input(fmt::format("{}: what it gave at {} is not there; its format is needed", title, name));
    // The first keeps the call's name at its end: some planted faults are in calls of that name alone.
    call.outputs.push_back(tensor(fmt::format("{}.{}", index, port == 0 ? op.name : name), (*saved)->dtype(),
                                  (*inferred)[port], TensorSpec::Role::output));
  }
  program_.calls.push_back(std::move(call));
  return {};
}

}  // namespace

Result<std::unique_ptr<const Stage>> saved_calls(const OpTable& ops, const std::filesystem::path& folder) {
  const auto manifest = read_trace_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  auto stage = std::make_unique<SavedCallsStage>(ops);
  for (std::size_t i = 0; i < manifest->ops.size(); ++i)
    if (auto ok = stage->add(folder, i, manifest->ops[i]); !ok) return tl::unexpected(ok.error());
  return std::unique_ptr<const Stage>(std::move(stage));
}

Result<void> write_producer(const std::filesystem::path& folder, const Producer& producer) {
  const char* const file = "producer.safetensors";
  using Json = nlohmann::ordered_json;
  Json attributes = Json::object(), inputs = Json::object(), outputs = Json::object();
  for (const auto& entry : producer.attributes.all())
    std::visit([&](const auto& value) { attributes[entry.first] = value; }, entry.second);
  for (const auto& [name, tensor] : producer.tensors) {
    const std::string source = fmt::format("{}:{}", file, name);
    if (name.starts_with("got:"))
      outputs[name.substr(4)] = source;
    else
      inputs[name] = source;
  }
  Json op{{"op", producer.kind},
          {"name", producer.title},
          {"accumulate", name_of(producer.accumulate)},
          {"attributes", std::move(attributes)},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)}};
  if (producer.kind.empty()) op.erase("op");
  const Json manifest{{"parity_trace", 1}, {"ops", Json::array({std::move(op)})}};
  if (auto ok = write_safetensors(folder / file, producer.tensors); !ok) return ok;
  const std::string text = manifest.dump(1) + "\n";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return write_file(folder / "manifest.json", std::span(&bytes, 1));
}

}  // namespace parity
