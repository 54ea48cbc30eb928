#include "harness/bisect/trace_manifest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/ladder/kernel_claim.hpp"

namespace parity {
namespace {

using Json = nlohmann::ordered_json;
using Ports = std::vector<std::pair<std::string, std::string>>;

/// Where a mistake is: "trace/manifest.json: ops[3]: inputs".
struct Place {
  std::string text;
  template <class T>
  Place in(const T& what) const {
    return {fmt::format("{}: {}", text, what)};
  }
};

Result<void> wrong(const Place& place, const std::string& what) {
  return bad_input(fmt::format("{}: {}", place.text, what));
}

Result<Attributes> attributes_of(const Json& json, const Place& place) {
  Attributes attributes;
  if (!json.is_object()) return tl::unexpected(wrong(place, "must be an object").error());
  for (const auto& [name, value] : json.items()) {
    if (value.is_boolean())
      attributes.set(name, std::int64_t{value.get<bool>() ? 1 : 0});
    else if (value.is_number_integer())
      attributes.set(name, value.get<std::int64_t>());
    else if (value.is_number())
      attributes.set(name, value.get<double>());
    else if (value.is_string())
      attributes.set(name, value.get<std::string>());
    else
      return tl::unexpected(wrong(place.in(name), "may be a number, a text or true or false").error());
  }
  return attributes;
}

Result<Ports> ports_of(const Json& json, const Place& place) {
  Ports ports;
  if (!json.is_object())
    return tl::unexpected(wrong(place, "must be an object of \"PORT\": \"FILE.npy\"").error());
  for (const auto& [port, source] : json.items()) {
    if (!source.is_string() || source.get<std::string>().empty())
      return tl::unexpected(
          wrong(place.in(port), "must be \"FILE.npy\" or \"FILE.safetensors:TENSOR\"").error());
    ports.emplace_back(port, source.get<std::string>());
  }
  return ports;
}

Result<TraceOp> op_of(const Json& json, const Place& place) {
  TraceOp op;
  const auto fails = [](const Result<void>& error) { return tl::unexpected(error.error()); };
  if (!json.is_object()) return fails(wrong(place, "must be an object"));
  for (const auto& [key, value] : json.items()) {
    const bool text = value.is_string();
    if ((key == "op" || key == "name" || key == "accumulate" || key == "arithmetic") && !text)
      return fails(wrong(place.in(key), "must be a text"));
    if (key == "op") {
      op.kind = value.get<std::string>();
    } else if (key == "name") {
      op.name = value.get<std::string>();
    } else if (key == "attributes") {
      auto attributes = attributes_of(value, place.in(key));
      if (!attributes) return tl::unexpected(attributes.error());
      op.attributes = *std::move(attributes);
    } else if (key == "inputs" || key == "outputs") {
      auto ports = ports_of(value, place.in(key));
      if (!ports) return tl::unexpected(ports.error());
      (key == "inputs" ? op.inputs : op.outputs) = *std::move(ports);
    } else if (key == "accumulate") {
      const auto dtype = parse_dtype(value.get<std::string>());
      if (!dtype || !(is_float(*dtype) || *dtype == DType::i32))
        return fails(wrong(place.in(key), "may be f64, f32, f16, bf16, or i32 for int8"));
      op.accumulate = *dtype;
    } else if (key == "arithmetic") {
      op.arithmetic = value.get<std::string>();
      const auto& known = claim_models();
      if (std::ranges::find(known, op.arithmetic) == known.end())
        return fails(wrong(place.in(key), fmt::format("may be {}", fmt::join(known, ", "))));
    } else {
      return fails(
          wrong(place, fmt::format("'{}' is unknown; there are op, name, attributes, inputs, outputs, "
                                   "accumulate and arithmetic",
                                   key)));
    }
  }
  if (op.outputs.empty()) return fails(wrong(place, "has no outputs: there is nothing to look at"));
  if (op.name.empty()) op.name = op.kind;
  return op;
}

}  // namespace

Result<TraceManifest> parse_trace_manifest(const std::string& text, const std::string& name) {
  const Place place{name};
  const auto fails = [](const Result<void>& error) { return tl::unexpected(error.error()); };
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return fails(wrong(place, "is no JSON object"));
  const auto version = json.find("parity_trace");
  if (version == json.end() || !version->is_number_integer() || version->get<std::int64_t>() != 1)
    return fails(wrong(place, "must say \"parity_trace\": 1, the version of the format"));
  const bool has_ops = json.contains("ops"), has_tensors = json.contains("tensors");
  if (has_ops == has_tensors) return fails(wrong(place, "must have either \"ops\" or \"tensors\""));
  const Json& list = json[has_ops ? "ops" : "tensors"];
  if (!list.is_array() || list.empty()) return fails(wrong(place, "its list must hold something"));
  TraceManifest manifest;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (has_ops) {
      auto op = op_of(list[i], place.in(fmt::format("ops[{}]", i)));
      if (!op) return tl::unexpected(op.error());
      manifest.ops.push_back(*std::move(op));
    } else {
      if (!list[i].is_string())
        return fails(wrong(place.in(fmt::format("tensors[{}]", i)), "must be a file"));
      TraceOp op;
      op.outputs = {{"", list[i].get<std::string>()}};
      op.name = op.outputs[0].second;
      manifest.ops.push_back(std::move(op));
    }
  }
  return manifest;
}

Result<TraceManifest> read_trace_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "manifest.json";
  std::ifstream stream(file);
  if (!stream)
    return bad_input(
        fmt::format("{}: a trace needs this file, with its ops or the order of its tensors "
                    "(docs/trace.md)",
                    file.string()));
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_trace_manifest(text.str(), file.string());
}

}  // namespace parity
