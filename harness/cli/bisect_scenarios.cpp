#include "harness/cli/bisect_scenarios.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/bisect/mistaken_op.hpp"
#include "harness/bisect/parting.hpp"
#include "harness/cli/fault_run.hpp"
#include "harness/ladder/assignment.hpp"
#include "reports/markdown_text.hpp"

namespace parity::cli {
namespace {

using Outcome = ScenarioRow::Outcome;

/// "t3_h[0, 2], timestep 3, step 1".
std::string place_of_producer(const Producer& p) {
  std::string text = fmt::format("{}[{}]", p.tensor, fmt::join(p.index, ", "));
  if (p.place.timestep) text += fmt::format(", timestep {}", *p.place.timestep);
  if (p.step > 0) text += fmt::format(", step {}", p.step);
  return text;
}

bool found_something(const BisectReport& report) {
  return report.kind != BisectReport::Kind::healthy;
}

bool holds(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

/// The op whose result that is.
std::string op_that_makes(const Program& program, const std::string& tensor) {
  const auto id = program.find(tensor);
  for (const OpCall& call : program.calls)
    if (id && std::ranges::find(call.outputs, *id) != call.outputs.end()) return call.op;
  return {};
}

class ScenarioRunner {
 public:
  ScenarioRunner(const Context& context, Device& device, FaultyDevices& faulty)
      : context_(context), device_(device), faulty_(faulty) {}

  Result<ScenarioRow> run(const Scenario& scenario);

 private:
  Result<std::string> case_of(const Scenario& scenario, std::vector<std::string>& paths) const;
  Result<std::vector<std::string>> legal_paths(const Device& device, const Program& program,
                                               const std::vector<std::string>& wanted) const;
  Result<bool> attempt(const Scenario& scenario, Device& device, const Case& c, const std::string& path,
                       BisectOptions options, ScenarioRow& row);
  std::string what_is_wrong(const Scenario& scenario, const BisectReport& report,
                            const std::string& row_op) const;
  std::string element_is_wrong(const Scenario& scenario, const BisectTarget& faulty,
                               const BisectOptions& options, const Producer& producer);

  const Context& context_;
  Device& device_;
  FaultyDevices& faulty_;
};

/// The scenario's case, or the first of its fault's, whose paths are then the fault's.
Result<std::string> ScenarioRunner::case_of(const Scenario& scenario, std::vector<std::string>& paths) const {
  paths = scenario.paths;
  if (scenario.fault.empty()) return scenario.case_text;
  auto catalogue = read_catalogue({});
  if (!catalogue) return tl::unexpected(catalogue.error());
  for (const faults::CatalogueFault& fault : *catalogue) {
    if (fault.name != scenario.fault) continue;
    if (paths.empty()) paths = fault.paths;
    return scenario.case_text.empty() ? fault.cases.front() : scenario.case_text;
  }
  return bad_input(fmt::format("the catalogue has no fault '{}'", scenario.fault));
}

/// Kind, op, place and cause against what the scenario says; empty: all right.
std::string ScenarioRunner::what_is_wrong(const Scenario& scenario, const BisectReport& report,
                                          const std::string& row_op) const {
  const std::string_view kind = name_of(report.kind);
  if (scenario.finds.empty() ? !found_something(report) : !holds(scenario.finds, kind))
    return fmt::format(
        "it found {}, not {}", kind,
        scenario.finds.empty() ? "the fault" : fmt::to_string(fmt::join(scenario.finds, " or ")));
  if (!row_op.empty() && !scenario.ops.empty() && !holds(scenario.ops, row_op))
    return fmt::format("the op is {}", fmt::join(scenario.ops, " or "));
  if (!report.producer) return {};
  const Producer& p = *report.producer;
  if (!scenario.tensor.empty() && p.tensor != scenario.tensor)
    return fmt::format("the tensor is {}", scenario.tensor);
  if (scenario.step && p.step != *scenario.step) return fmt::format("the step is {}", *scenario.step);
  if (scenario.timestep && p.place.timestep != scenario.timestep)
    return fmt::format("the timestep is {}", *scenario.timestep);
  if (!scenario.element.empty() && p.index != scenario.element)
    return fmt::format("the element is [{}]", fmt::join(scenario.element, ", "));
  std::vector<std::string> causes = scenario.causes;
  if (std::string other = reason_for(scenario.other_causes, device_.info()); !other.empty()) {
    causes.clear();
    while (!other.empty()) {
      const std::size_t end = std::min(other.find(" | "), other.size());
      causes.push_back(other.substr(0, end));
      other.erase(0, end == other.size() ? end : end + 3);
    }
  }
  const std::string cause(name_of(p.examined.cause.kind));
  if (!causes.empty() && !holds(causes, cause))
    return fmt::format("the cause is {}", fmt::join(causes, " or "));
  return {};
}

/// Beside a healthy device: the call is the first whose bits the fault changed, and the element one of those.
std::string ScenarioRunner::element_is_wrong(const Scenario& scenario, const BisectTarget& faulty,
                                             const BisectOptions& options, const Producer& producer) {
  const BisectTarget healthy{context_.ops, context_.stages, device_, faulty.c, faulty.path};
  auto parting = part(faulty, healthy, options, producer.step, producer.tensor);
  const auto element = static_cast<std::size_t>(producer.examined.element);
  const auto parts_there = [&] {
    return parting && parting->parts && element < parting->there.size() && parting->there[element];
  };
  // A race is lost in some runs only: the run that is compared is another one than the run that was blamed.
  constexpr int most_tries = 16;
  for (int i = 1; i < most_tries && parting && !parts_there(); ++i)
    parting = part(faulty, healthy, options, producer.step, producer.tensor);
  if (!parting) return "no healthy run to compare with: " + parting.error().message;
  if (!parting->parts) return "a healthy run has the same bits";
  if (!parts_there()) return "a healthy run has the same bits in this element";
  // An earlier call may have changed within its contract; an op that the list names was compared above.
  const bool earlier =
      parting->step < producer.step || (parting->step == producer.step && parting->call < producer.call);
  if (earlier && scenario.ops.empty())
    return fmt::format("bits are others from call {} of step {} on", parting->call, parting->step);
  return {};
}

Result<std::vector<std::string>> ScenarioRunner::legal_paths(const Device& device, const Program& program,
                                                             const std::vector<std::string>& wanted) const {
  std::vector<std::string> legal;
  std::string refusal = "no path of the device takes its case";
  for (const std::string& path : wanted.empty() ? assignable_paths(device, program) : wanted) {
    const auto assignment = assign(device, program, path);
    if (assignment)
      legal.push_back(path);
    else
      refusal = assignment.error().message;
  }
  if (legal.empty()) return fail(ErrorKind::unsupported, refusal);
  return legal;
}

/// One path; fills the row. Whether anything was found: a fault may act on some paths only.
Result<bool> ScenarioRunner::attempt(const Scenario& scenario, Device& device, const Case& c,
                                     const std::string& path, BisectOptions options, ScenarioRow& row) {
  const OpTable mistaken = with_mistake(context_.ops, scenario.reference, [&](std::vector<Value>& values) {
    for (double& v : values[0].v) v *= scenario.reference_factor;
  });
  const OpTable& ops = scenario.reference.empty() ? context_.ops : mistaken;
  std::optional<PlantedDevice> planted;
  const auto target = [&]() -> BisectTarget {
    if (!scenario.change) return {ops, context_.stages, device, c, path};
    PlantedDevice& wrong = planted.emplace(device, *scenario.change);
    options.before_run = [&wrong](std::int64_t step) { wrong.set_step(step); };
    return {ops, context_.stages, wrong, c, path};
  };
  const BisectTarget first = target();
  const auto report = bisect_program(first, options);
  if (!report) return tl::unexpected(report.error());
  row.path = path;
  row.op.clear(), row.where.clear(), row.cause.clear();
  row.found = name_of(report->kind);
  row.cost = report->cost;
  if (report->producer) {
    row.op = report->producer->op;
    row.where = place_of_producer(*report->producer);
    row.cause = name_of(report->producer->examined.cause.kind);
  }
  if (report->kind == BisectReport::Kind::varies && !report->varying.empty()) {
    row.where = report->varying.front(), row.cause = "bits from run to run";
    if (const auto program = first.stage()->build(c)) row.op = op_that_makes(*program, row.where);
  }
  row.why = what_is_wrong(scenario, *report, row.op);
  // Of a race another run than the one that was judged tells nothing.
  if (row.why.empty() && report->producer && scenario.race_runs == 0 &&
      (!scenario.fault.empty() || scenario.change))
    row.why = element_is_wrong(scenario, target(), options, *report->producer);
  return found_something(*report);
}

Result<ScenarioRow> ScenarioRunner::run(const Scenario& scenario) {
  ScenarioRow row;
  row.name = scenario.name, row.what = scenario.what;
  const auto absent = [&](const std::string& why) {
    row.outcome = Outcome::absent, row.why = why;
    return row;
  };
  if (const std::string reason = reason_for(scenario.not_here, device_.info()); !reason.empty())
    return absent(reason);
  std::vector<std::string> paths;
  const auto pattern = case_of(scenario, paths);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto cases = expand_pattern(*pattern, context_.stages);
  if (!cases) return tl::unexpected(cases.error());
  if (cases->empty()) return bad_input(fmt::format("'{}' is no case", *pattern));
  const Case& c = cases->front();
  row.case_text = print_case(c, context_.stages);
  Device* device = &device_;
  if (!scenario.fault.empty()) {
    const auto planted = faulty_.with(scenario.fault, device_);
    if (!planted) return absent(planted.error().message);
    device = *planted;
  }
  const Stage& stage = *context_.stages.find(c.stage);
  const auto program = stage.build(c);
  if (!program) return tl::unexpected(program.error());
  const auto legal = legal_paths(*device, *program, paths);
  if (!legal) return absent(legal.error().message);
  BisectOptions options;
  if (!scenario.settings.empty()) {
    auto inputs = with_settings(stage, c, *program, {}, scenario.settings);
    if (!inputs) return tl::unexpected(inputs.error());
    options.inputs = *std::move(inputs);
  }
  bool acts = false;
  for (const std::string& path : *legal) {
    auto found = attempt(scenario, *device, c, path, options, row);
    for (std::int64_t i = 1; i < scenario.race_runs && found && !*found; ++i)
      found = attempt(scenario, *device, c, path, options, row);
    // A device that fails is an answer, and a wrong one; what it has no kernel to plant with is none.
    if (!found && found.error().kind == ErrorKind::unsupported) return absent(found.error().message);
    if (!found) row.why = found.error().message;
    if (!found || *found || holds(scenario.finds, "healthy")) break;
    // What leaves every bit as it was is no fault on this path.
    const BisectTarget faulty{context_.ops, context_.stages, *device, c, path};
    const BisectTarget healthy{context_.ops, context_.stages, device_, c, path};
    const auto parting = part(faulty, healthy, options, stage.steps(c) - 1, "");
    acts = acts || scenario.fault.empty() || !parting || parting->parts;
  }
  if (!acts && row.found == name_of(BisectReport::Kind::healthy) && !holds(scenario.finds, "healthy"))
    return absent("it does not act here: every bit is the healthy kernel's");
  const std::string known = reason_for(scenario.misses, device_.info());
  row.outcome = row.why.empty() ? Outcome::right : known.empty() ? Outcome::wrong : Outcome::missed;
  if (row.outcome == Outcome::missed) row.why += ": " + known;
  return row;
}

std::string_view outcome_word(Outcome outcome) {
  constexpr std::string_view words[] = {"right", "WRONG", "missed", "not here"};
  return words[static_cast<std::size_t>(outcome)];
}

}  // namespace

std::int64_t ScenarioRun::count(ScenarioRow::Outcome outcome) const {
  return std::ranges::count(rows, outcome, &ScenarioRow::outcome);
}

Result<std::map<std::string, Tensor>> with_settings(const Stage& stage, const Case& c, const Program& program,
                                                    std::map<std::string, Tensor> inputs,
                                                    const std::vector<InputSetting>& settings) {
  if (settings.empty()) return inputs;
  auto filled = first_inputs(stage, c, program, inputs);
  if (!filled) return tl::unexpected(filled.error());
  for (const InputSetting& setting : settings) {
    const auto id = program.find(setting.place.tensor);
    if (!id || !filled->contains(*id)) {
      std::vector<std::string> names;
      for (const auto& [input, tensor] : *filled) names.push_back(program.spec(input).name);
      return bad_input(
          fmt::format("the case has no input '{}'; it has {}", setting.place.tensor, fmt::join(names, ", ")));
    }
    Tensor& tensor = filled->at(*id);
    const auto elements = elements_at(setting.place, tensor.shape());
    if (!elements) return tl::unexpected(elements.error());
    for (const std::int64_t element : *elements) tensor.set_value(element, setting.value);
    inputs.insert_or_assign(setting.place.tensor, tensor);
  }
  return inputs;
}

Result<std::vector<Scenario>> catalogue_scenarios(const std::vector<Scenario>& list) {
  auto catalogue = read_catalogue({});
  if (!catalogue) return tl::unexpected(catalogue.error());
  std::vector<Scenario> more;
  for (const faults::CatalogueFault& fault : *catalogue) {
    if (!fault.corruption.empty() ||
        std::ranges::any_of(list, [&](const Scenario& s) { return s.fault == fault.name; }))
      continue;
    Scenario scenario;
    scenario.name = scenario.fault = fault.name;
    scenario.what = fault.what;
    scenario.not_here = fault.not_here;
    more.push_back(std::move(scenario));
  }
  return more;
}

Result<ScenarioRun> run_scenarios(const Context& context, const std::vector<Scenario>& list, Device& device,
                                  FaultyDevices& faulty,
                                  const std::function<void(std::size_t, const std::string&)>& begin,
                                  const std::function<void(const ScenarioRow&)>& show) {
  ScenarioRunner runner(context, device, faulty);
  ScenarioRun run{device.info(), {}};
  for (const Scenario& scenario : list) {
    begin(run.rows.size() + 1, scenario.name);
    auto row = runner.run(scenario);
    if (!row)
      return fail(row.error().kind, fmt::format("scenario {}: {}", scenario.name, row.error().message));
    show(*row);
    run.rows.push_back(*std::move(row));
  }
  return run;
}

std::string scenario_line(const ScenarioRow& row) {
  if (row.outcome == Outcome::absent) return fmt::format("{:<9} {:<34} {}\n", "not here", row.name, row.why);
  std::string text = fmt::format("{:<9} {:<34} {}", outcome_word(row.outcome), row.name, row.found);
  if (!row.op.empty()) text += fmt::format(": {} on {}, {}, {}", row.op, row.path, row.where, row.cause);
  if (!row.why.empty()) text += fmt::format("; {}", row.why);
  return text + "\n";
}

std::string scenarios_summary(const ScenarioRun& run) {
  double seconds = 0;
  for (const ScenarioRow& row : run.rows) seconds += row.cost.seconds;
  return fmt::format("{}: {} scenarios, {} right, {} wrong, {} missed with a reason, {} not here; {:.1f} s\n",
                     run.device.id, run.rows.size(), run.count(Outcome::right), run.count(Outcome::wrong),
                     run.count(Outcome::missed), run.count(Outcome::absent), seconds);
}

std::string scenarios_markdown(const ScenarioRun& run) {
  std::string text =
      fmt::format("# Bisecting what was planted: {}\n\n{}, {}.\n\n{}\n", markdown_text(run.device.name),
                  markdown_text(run.device.driver), markdown_text(run.device.api), scenarios_summary(run));
  text += "| scenario | | found | op | where | cause | path |\n|---|---|---|---|---|---|---|\n";
  for (const ScenarioRow& row : run.rows) {
    if (row.outcome == Outcome::absent) continue;
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", markdown_text(row.name),
                        outcome_word(row.outcome), markdown_text(row.found), markdown_text(row.op),
                        markdown_text(row.where), markdown_text(row.cause), markdown_text(row.path));
  }
  const auto list = [&](Outcome outcome, const char* title) {
    if (run.count(outcome) == 0) return;
    text += fmt::format("\n{}\n\n", title);
    for (const ScenarioRow& row : run.rows)
      if (row.outcome == outcome)
        text +=
            fmt::format("- {} (`{}`): {}\n", markdown_text(row.name), row.case_text, markdown_text(row.why));
  };
  list(Outcome::wrong, "Wrong:");
  list(Outcome::missed, "Missed, and why:");
  list(Outcome::absent, "Not here:");
  return text;
}

}  // namespace parity::cli
