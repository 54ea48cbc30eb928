#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/case_filter.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/suites.hpp"

namespace parity::cli {
namespace {

struct ListOptions {
  std::vector<std::string> filter;
  std::string suite;
  bool json = false;
};

using Json = nlohmann::ordered_json;

std::string default_text(const Parameter& parameter) {
  if (parameter.required) return "required";
  return std::visit([](const auto& value) { return fmt::format("default {}", value); }, parameter.fallback);
}

std::string choices_text(const Parameter& parameter) {
  std::string text;
  for (const std::string_view choice : parameter.choices)
    text += fmt::format("{}{}", text.empty() ? "" : "|", choice);
  return text;
}

/// The inputs that a user may bring to a rung: those of a small case that the rung would take.
std::string inputs_text(const Stage& stage) {
  Case c = stage.calibration({}, DType::f32);
  for (const Parameter& parameter : stage.parameters())
    if (parameter.name == "gradient") c.parameters.set("gradient", std::string("n"));
  const auto program = stage.build(c);
  std::string text;
  if (!program) return text;
  for (const TensorSpec& spec : program->tensors) {
    if (spec.role != TensorSpec::Role::input || spec.is_view()) continue;
    auto tensor = Tensor::create(spec.dtype, spec.shape);
    if (!tensor || !stage.bind(c, {{spec.name, *std::move(tensor)}})) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", spec.name);
  }
  return text;
}

std::string stage_text(const Stage& stage) {
  std::string text = fmt::format("  {}: {}  {}\n", stage.rung(), stage.name(), stage.summary());
  for (const Parameter& parameter : stage.parameters()) {
    const std::string choices = choices_text(parameter);
    const std::string name =
        choices.empty() ? std::string(parameter.name) : fmt::format("{}={}", parameter.name, choices);
    text += fmt::format("       {:<10} {} ({})\n", name, parameter.help, default_text(parameter));
  }
  if (const std::string inputs = inputs_text(stage); !inputs.empty())
    text += fmt::format("       {:<10} {}\n", "--input", inputs);
  return text;
}

std::string_view knowledge_text(OrderKnowledge knowledge) {
  switch (knowledge) {
    case OrderKnowledge::declared:
      return "declared: its bits are the contract";
    case OrderKnowledge::candidates:
      return "candidates: a model may fit";
    case OrderKnowledge::unknown:
      return "unknown: bounds only";
  }
  return "?";
}

/// A path with the backend that has it; the same path of several devices of a backend is one.
struct Path {
  std::string backend;
  const Implementation* implementation;
};

std::vector<Path> paths_of(const BackendSet& set, const std::vector<std::string>& filter) {
  std::vector<Path> paths;
  for (const auto& device : set.devices)
    for (const Implementation& implementation : device->implementations()) {
      const std::string& backend = device->info().backend;
      const bool known = std::any_of(paths.begin(), paths.end(), [&](const Path& path) {
        return path.backend == backend && path.implementation->op == implementation.op &&
               path.implementation->path == implementation.path;
      });
      if (!known &&
          fits_filter(fmt::format("{} {} {}", implementation.op, implementation.path, backend), filter))
        paths.push_back({backend, &implementation});
    }
  return paths;
}

struct NamedSuite {
  std::string name, summary;
  std::vector<std::string> cases;  ///< those that fit the filter
};

Result<std::vector<NamedSuite>> suites_of(const Context& context, const ListOptions& options) {
  std::vector<NamedSuite> suites;
  const auto add = [&](const std::string& name, std::string summary) -> Result<void> {
    auto cases = read_suite(name, context.stages);
    if (!cases) return tl::unexpected(cases.error());
    NamedSuite suite{name, std::move(summary), {}};
    for (const Case& c : *cases) {
      std::string text = print_case(c, context.stages);
      if (fits_filter(text, options.filter)) suite.cases.push_back(std::move(text));
    }
    suites.push_back(std::move(suite));
    return {};
  };
  if (!options.suite.empty()) {
    if (auto added = add(options.suite, ""); !added) return tl::unexpected(added.error());
    return suites;
  }
  for (const EmbeddedSuite& suite : embedded_suites())
    if (auto added = add(std::string(suite.name), suite_summary(suite.text)); !added)
      return tl::unexpected(added.error());
  return suites;
}

std::string stores_text(const Implementation& implementation) {
  std::string text;
  for (const DType store : implementation.stores)
    text += fmt::format("{}{}", text.empty() ? "" : "|", name_of(store));
  return text;
}

std::string path_text(const Path& path) {
  const Implementation& i = *path.implementation;
  std::string text = fmt::format("  {} {} ({}): {}\n", i.op, i.path, path.backend, i.summary);
  text += fmt::format("       input {}, multiplied as {}, accumulated in {}, stored as {}\n",
                      name_of(i.input), name_of(i.multiply), name_of(i.accumulate), stores_text(i));
  text += fmt::format("       contract: {}\n       order {}\n", to_string(i.contract),
                      knowledge_text(i.knowledge));
  return text;
}

Json json_of(const Context& context, const std::vector<const Stage*>& stages,
             const std::vector<NamedSuite>& suites, const std::vector<Path>& paths) {
  (void)context;
  Json json = {{"rungs", Json::array()}, {"suites", Json::array()}, {"implementations", Json::array()}};
  for (const Stage* stage : stages) {
    Json parameters = Json::array();
    for (const Parameter& p : stage->parameters()) {
      Json entry = {{"name", p.name}, {"help", p.help}, {"required", p.required}};
      if (!p.required) std::visit([&](const auto& value) { entry["default"] = value; }, p.fallback);
      if (!p.choices.empty()) entry["choices"] = p.choices;
      parameters.push_back(std::move(entry));
    }
    json["rungs"].push_back({{"rung", stage->rung()},
                             {"stage", stage->name()},
                             {"summary", stage->summary()},
                             {"parameters", parameters}});
  }
  for (const NamedSuite& suite : suites)
    json["suites"].push_back({{"name", suite.name}, {"cases", suite.cases}});
  for (const Path& path : paths) {
    const Implementation& i = *path.implementation;
    Json stores = Json::array();
    for (const DType store : i.stores) stores.push_back(name_of(store));
    json["implementations"].push_back({{"op", i.op},
                                       {"path", i.path},
                                       {"backend", path.backend},
                                       {"summary", i.summary},
                                       {"input", name_of(i.input)},
                                       {"multiply", name_of(i.multiply)},
                                       {"accumulate", name_of(i.accumulate)},
                                       {"stores", stores},
                                       {"contract", to_string(i.contract)},
                                       {"order", knowledge_text(i.knowledge)}});
  }
  return json;
}

int run(const Context& context, const ListOptions& options) {
  auto suites = suites_of(context, options);
  if (!suites) return report(suites.error());
  const BackendSet set = load_backends(context.ops, {}, context.backend_directory);
  const std::vector<Path> paths = paths_of(set, options.filter);
  std::vector<const Stage*> stages;
  for (const auto& stage : context.stages.all())
    if (fits_filter(fmt::format("{} {}", stage->name(), stage->summary()), options.filter))
      stages.push_back(stage.get());
  std::size_t cases = 0;
  for (const NamedSuite& suite : *suites) cases += suite.cases.size();
  if (options.json) {
    print(json_of(context, stages, *suites, paths).dump(2, ' ', false, Json::error_handler_t::replace) +
          "\n");
  } else {
    if (!stages.empty()) print("Rungs, their settings in a case text:\n");
    for (const Stage* stage : stages) print(stage_text(*stage));
    print("  every rung: in= acc= out= (f64 f32 f16 bf16), fill=, seed=\n");
    // The cases themselves only where they were asked for: a suite has hundreds.
    const bool show = !options.filter.empty() || !options.suite.empty();
    print("\nSuites:\n");
    for (const NamedSuite& suite : *suites) {
      print(fmt::format("  {}: {} cases  {}\n", suite.name, suite.cases.size(), suite.summary));
      if (show)
        for (const std::string& text : suite.cases) print("       " + text + "\n");
    }
    if (!paths.empty()) print("\nKernel paths:\n");
    for (const Path& path : paths) print(path_text(path));
    for (const AbsentBackend& absent : set.absent)
      print(fmt::format("  {}: absent: {}\n", absent.name, absent.reason));
  }
  if (cases == 0 && stages.empty() && paths.empty()) {
    complain("nothing fits the filter");
    return nothing_judged;
  }
  return passed;
}

}  // namespace

void add_list_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "Rungs, cases, kernel paths and their contracts");
  command->add_option(
      "filter", options->filter,
      "Words, each of which must stand somewhere in what is listed (* and ? stand for any characters); with "
      "a filter the cases are listed one by one");
  command->add_option("-s,--suite", options->suite,
                      "Only the cases of this suite: smoke, ladder, conformance or a file of case patterns");
  command->add_flag("--json", options->json, "The same as JSON, for programs");
  command->footer(
      "Examples:\n"
      "  parity list                     rungs with their settings, suites, kernel paths\n"
      "  parity list linear tanh         the cases of every suite that hold both words\n"
      "  parity list 'gemm*k=588'        quote what the shell would take for a file name\n"
      "  parity list --suite smoke       the cases of one suite\n"
      "\n"
      "Exit codes: 0; 2 bad usage, or a suite that cannot be read; 4 nothing fits.");
  command->callback([&context, options] { context.exit_code = run(context, *options); });
}

}  // namespace parity::cli
