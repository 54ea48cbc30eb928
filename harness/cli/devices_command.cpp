#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"
#include "reports/record_json.hpp"

namespace parity::cli {
namespace {

struct DevicesOptions {
  std::vector<std::string> devices;
  bool json = false;
};

std::string facts_text(const DeviceInfo& info) {
  std::vector<std::string> groups;
  std::size_t width = 0;
  for (const DeviceFact& fact : info.facts) {
    if (std::find(groups.begin(), groups.end(), fact.group) == groups.end()) groups.push_back(fact.group);
    width = std::max(width, fact.name.size());
  }
  std::string text;
  for (const std::string& group : groups) {
    text += "  " + group + "\n";
    for (const DeviceFact& fact : info.facts)
      if (fact.group == group) text += fmt::format("    {:<{}}  {}\n", fact.name, width, fact.value);
  }
  return text;
}

std::string precision_text(const Implementation& implementation) {
  std::string stores;
  for (const DType store : implementation.stores)
    stores += fmt::format("{}{}", stores.empty() ? "" : "/", name_of(store));
  return fmt::format("{} -> {} -> {}", name_of(implementation.input), name_of(implementation.accumulate),
                     stores);
}

std::string paths_text(const Device& device) {
  std::size_t op_width = 0, path_width = 0, precision_width = 0;
  for (const Implementation& implementation : device.implementations()) {
    op_width = std::max(op_width, implementation.op.size());
    path_width = std::max(path_width, implementation.path.size());
    precision_width = std::max(precision_width, precision_text(implementation).size());
  }
  std::string text = "  paths (input -> accumulate -> store)\n";
  for (const Implementation& implementation : device.implementations()) {
    const Support support = device.supports(implementation);
    text += fmt::format("    {:<{}}  {:<{}}  {:<{}}  {}\n", implementation.op, op_width, implementation.path,
                        path_width, precision_text(implementation), precision_width,
                        support.legal() ? "legal" : "not legal: " + support.reason);
  }
  return text;
}

std::string device_text(const Device& device) {
  const DeviceInfo& info = device.info();
  std::string text = fmt::format("{}  {}\n", info.id, info.name);
  if (!info.driver.empty()) text += "  driver: " + info.driver + "\n";
  if (!info.api.empty()) text += "  api: " + info.api + "\n";
  return text + facts_text(info) + paths_text(device) + "\n";
}

nlohmann::ordered_json device_json(const Device& device) {
  auto json = nlohmann::ordered_json::parse(device_to_json(device.info()));
  auto& paths = json["paths"] = nlohmann::ordered_json::array();
  for (const Implementation& implementation : device.implementations()) {
    const Support support = device.supports(implementation);
    auto stores = nlohmann::ordered_json::array();
    for (const DType store : implementation.stores) stores.push_back(name_of(store));
    paths.push_back({{"op", implementation.op},
                     {"path", implementation.path},
                     {"input", name_of(implementation.input)},
                     {"accumulate", name_of(implementation.accumulate)},
                     {"stores", stores},
                     {"legal", support.legal()},
                     {"reason", support.reason}});
  }
  return json;
}

int run(const Context& context, const DevicesOptions& options) {
  const BackendSet set =
      load_backends(context.ops, {}, context.backend_directory, backends_for(options.devices));
  const auto selected = select_devices(set, options.devices);
  if (!selected) return report(selected.error());
  if (options.json) {
    nlohmann::ordered_json json = {{"devices", nlohmann::ordered_json::array()},
                                   {"absent", nlohmann::ordered_json::array()}};
    for (const Device* device : *selected) json["devices"].push_back(device_json(*device));
    for (const AbsentBackend& absent : set.absent)
      json["absent"].push_back({{"backend", absent.name}, {"reason", absent.reason}});
    print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return passed;
  }
  for (const Device* device : *selected) print(device_text(*device));
  for (const AbsentBackend& absent : set.absent)
    print(fmt::format("{}: absent: {}\n", absent.name, absent.reason));
  return passed;
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command =
      app.add_subcommand("devices", "What is here; per device its paths, and why a path is not legal");
  command
      ->add_option("-d,--device", options->devices,
                   "Only this one: an id (vulkan:0), a backend (vulkan) or a part of "
                   "the name; may be given several times")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "The same as JSON, for programs");
  command->footer(
      "Lists each device with its driver, the limits and features that matter to numerics, its "
      "cooperative-matrix\n"
      "configurations, and for every kernel path whether it is legal there and, if not, exactly why. A "
      "backend that\n"
      "is not here is listed with the reason.\n"
      "\n"
      "Examples:\n"
      "  parity devices\n"
      "  parity devices --device vulkan\n"
      "\n"
      "Exit codes: 0; 2 bad usage; 3 the device asked for is not here.");
  command->callback([&context, options] { context.exit_code = run(context, *options); });
}

}  // namespace parity::cli
