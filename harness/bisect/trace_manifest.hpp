#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/ladder/attributes.hpp"
#include "harness/tensor/dtype.hpp"

namespace parity {

/// One operation of somebody's engine, with the tensors it read and wrote (docs/trace.md).
struct TraceOp {
  std::string kind;  ///< an op of `parity list`; empty: not said, its tensors are only looked at
  std::string name;  ///< the engine's own word for it, or the kind
  Attributes attributes;
  /// Port -> "x.npy", "x.npy:bf16" or "w.safetensors:layer.w", relative to the folder.
  std::vector<std::pair<std::string, std::string>> inputs, outputs;
  DType accumulate = DType::f32;  ///< as the manifest says
  /// What it adds in: products of int8 are added in int32.
  DType accumulated(bool reads_int8) const { return reads_int8 ? DType::i32 : accumulate; }
  std::string arithmetic = "unknown";  ///< one of claim_models()
};

/// What manifest.json says.
struct TraceManifest {
  std::vector<TraceOp> ops;
};

/// Reads FOLDER/manifest.json: {"parity_trace": 1, "ops": [...]} or {"parity_trace": 1, "tensors": [...]},
/// the latter an order of tensors alone. Errors name the entry, what is wrong with it and what it may be.
Result<TraceManifest> read_trace_manifest(const std::filesystem::path& folder);
Result<TraceManifest> parse_trace_manifest(const std::string& text, const std::string& name);

}  // namespace parity
