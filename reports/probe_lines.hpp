#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/numerics/summation_tree.hpp"

namespace parity {

/// The order of one reduction on one path, as `parity probe` found it.
struct ProbedTree {
  DeviceInfo device;              ///< id, backend, name, driver
  std::string op, path, formats;  ///< formats: "f16 -> f32 -> f32"
  std::string name;               ///< "sum over k of A B"
  std::int64_t terms = 0;
  std::string order;                  ///< "sequential"; empty without a tree
  std::string why;                    ///< there is no tree: what was found instead
  std::vector<std::string> declared;  ///< orders that the path declares
  std::optional<bool> agrees;         ///< with one of them; absent: there is nothing to compare
  std::string contradiction;
  std::optional<SummationTree> tree;
};

/// Whether a file's first line is one of `parity probe --out` (probe.jsonl) rather than of records.
bool is_probe_file(const std::filesystem::path& file);
/// What such a file holds. Error: a line that is none, or of a newer form.
Result<std::vector<ProbedTree>> read_probe_file(const std::filesystem::path& file);

}  // namespace parity
