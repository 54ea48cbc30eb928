#include "reports/probe_lines.hpp"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/text_file.hpp"

namespace parity {
namespace {

using ProbeJson = nlohmann::json;

/// The form that `parity probe` writes (harness/cli/probe_output.cpp).
constexpr int known_probe_schema = 1;

Result<ProbedTree> tree_of(const ProbeJson& line, const ProbeJson& reduction) {
  const auto text = [](const ProbeJson& object, const char* name) {
    return object.at(name).get<std::string>();
  };
  ProbedTree found;
  const ProbeJson& device = line.at("device");
  found.device = {
      text(device, "id"), text(device, "backend"), text(device, "name"), text(device, "driver"), "", {}};
  found.op = text(line, "op");
  found.path = text(line, "path");
  found.formats =
      fmt::format("{} -> {} -> {}", text(line, "input"), text(line, "accumulate"), text(line, "store"));
  found.name = text(reduction, "name");
  found.terms = reduction.at("terms").get<std::int64_t>();
  found.declared = reduction.at("declared").get<std::vector<std::string>>();
  if (const ProbeJson& agrees = reduction.at("agrees"); !agrees.is_null()) found.agrees = agrees.get<bool>();
  found.contradiction = text(reduction, "contradiction");
  if (!reduction.contains("tree")) {
    found.why = fmt::format("{}: {}", text(reduction, "outcome"), text(reduction, "why"));
    return found;
  }
  auto tree = parse_summation_tree(text(reduction, "tree"));
  if (!tree) return tl::unexpected(tree.error());
  found.order = text(reduction, "order");
  found.tree = *std::move(tree);
  return found;
}

}  // namespace

bool is_probe_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return false;
  const ProbeJson json = ProbeJson::parse(line, nullptr, false);
  return json.is_object() && json.contains("kind") && json["kind"] == "probe";
}

Result<std::vector<ProbedTree>> read_probe_file(const std::filesystem::path& file) {
  const auto text = read_text_file(file, "a file of probes");
  if (!text) return tl::unexpected(text.error());
  std::vector<ProbedTree> trees;
  std::istringstream stream(*text);
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const auto refused = [&](const std::string& why) {
      return bad_input(fmt::format("{}:{}: {}", file.string(), number, why));
    };
    try {
      const ProbeJson json = ProbeJson::parse(line);
      if (json.at("kind") != "probe") return refused("this is no line of `parity probe --op`");
      if (json.at("schema") != known_probe_schema)
        return refused(fmt::format("its schema is {}, and this program knows {}", json.at("schema").dump(),
                                   known_probe_schema));
      for (const ProbeJson& reduction : json.at("reductions")) {
        auto tree = tree_of(json, reduction);
        if (!tree) return refused(tree.error().message);
        trees.push_back(*std::move(tree));
      }
    } catch (const ProbeJson::exception& error) {
      return refused(fmt::format("this is no probe: {}", error.what()));
    }
  }
  return trees;
}

}  // namespace parity
