#include "harness/faults/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/tensor/random.hpp"

namespace parity::faults {

namespace {

/// Seeds of data that no constant was tuned on.
constexpr std::uint64_t held_out_seeds = 1'000'000;

/// Integer parameters that are sizes; others (causal, gradient, group counts) change what is computed.
bool is_size(std::string_view name) {
  constexpr std::string_view sizes[] = {"m",        "n",        "k",      "rows",  "cols",
                                        "classes",  "inputs",   "hidden", "seq",   "batch",
                                        "head_dim", "replicas", "size",   "width", "vocabulary"};
  return std::ranges::find(sizes, name) != std::end(sizes);
}

/// One pattern's cases, each with the seeds it is to be run with.
Result<std::vector<Case>> cases_of(const std::string& pattern, const CatalogueFault& fault,
                                   const StageTable& stages, const PlanOptions& options) {
  auto expanded = expand_pattern(pattern, stages);
  if (!expanded)
    return bad_input(fmt::format("fault '{}', case '{}': {}", fault.name, pattern, expanded.error().message));
  std::vector<Case> cases;
  const bool own_seed = pattern.find("seed=") != pattern.npos;
  for (const Case& c : *expanded) {
    // Data that a fault needs (a NaN in a certain place) comes with its seed and sizes.
    for (int i = 0; i < (own_seed ? 1 : options.seeds); ++i) {
      Case one = c;
      const auto draw = options.first_seed + static_cast<std::uint64_t>(i);
      if (!own_seed && options.held_out)
        one = held_out_case(c, stages, held_out_seeds + draw);
      else if (!own_seed)
        one.seed = draw;
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

void add_trials(const CatalogueFault& fault, const Case& c, TrialRunner& runner, const PlanOptions& options,
                bool nominal_case, std::vector<Trial>& trials) {
  const bool kernel = fault.corruption.empty();
  const std::vector<std::string> paths =
      runner.paths_for(c, fault.paths, !kernel && options.several_paths && nominal_case);
  for (std::size_t p = 0; p < paths.size(); ++p) {
    if (kernel) {
      trials.push_back({&fault, c, paths[p], {}, nominal_case});
      continue;
    }
    std::vector<double> severities = fault.severities;
    if (severities.empty()) severities = {fault.nominal};
    for (const double severity : severities) {
      const bool nominal = severity == fault.nominal && nominal_case;
      if (!nominal && (options.only_nominal || p > 0)) continue;
      for (int position = 0; position < fault.positions; ++position)
        trials.push_back({&fault, c, paths[p], {severity, position, c.seed}, nominal});
    }
  }
}

}  // namespace

Case held_out_case(const Case& c, const StageTable& stages, std::uint64_t seed) {
  const Stage* stage = stages.find(c.stage);
  Case fallback = c;
  fallback.seed = seed;
  if (stage == nullptr) return fallback;
  for (std::uint64_t attempt = 0; attempt < 64; ++attempt) {
    Case drawn = fallback;
    std::uint64_t stream = 0;
    for (const Parameter& parameter : stage->parameters()) {
      ++stream;
      const auto* value = std::get_if<std::int64_t>(&parameter.fallback);
      if (value == nullptr || !is_size(parameter.name)) continue;
      const std::int64_t size = c.parameters.integer(parameter.name);
      if (size < 2) continue;
      const PhiloxBlock block = philox(seed, attempt, stream);
      const auto more =
          static_cast<std::int64_t>(below(static_cast<std::uint64_t>(size), block.word[0], block.word[1]));
      // The last attempts keep more and more sizes: a rotated head must be even, say.
      if (attempt > 16 && block.word[2] % 64 < attempt) continue;
      drawn.parameters.set(std::string(parameter.name), (size + more) | 1);
    }
    if (drawn.parameters == c.parameters) continue;
    if (stage->build(drawn)) return drawn;
  }
  return fallback;
}

Result<std::vector<PlannedFault>> plan_trials(std::span<const CatalogueFault> catalogue, TrialRunner& runner,
                                              const PlanOptions& options) {
  std::vector<PlannedFault> planned;
  const DeviceInfo& device = runner.device().info();
  for (const CatalogueFault& fault : catalogue) {
    PlannedFault plan{&fault, reason_for(fault.not_here, device), {}};
    if (plan.absent.empty() && !fault.planted_in(device.backend))
      plan.absent = fmt::format("the {} backend has no such kernel planted", device.backend);
    if (plan.absent.empty()) {
      for (const auto& [patterns, nominal] : {std::pair{&fault.cases, true}, std::pair{&fault.also, false}}) {
        if (!nominal && options.only_nominal) continue;
        for (const std::string& pattern : *patterns) {
          const auto cases = cases_of(pattern, fault, runner.stages(), options);
          if (!cases) return tl::unexpected(cases.error());
          for (const Case& c : *cases) add_trials(fault, c, runner, options, nominal, plan.trials);
        }
      }
      if (plan.trials.empty()) plan.absent = "no path of the device takes its cases";
    }
    planned.push_back(std::move(plan));
  }
  return planned;
}

Result<std::vector<HealthyCase>> healthy_cases(std::span<const CatalogueFault> catalogue, TrialRunner& runner,
                                               bool held_out) {
  std::vector<HealthyCase> cases;
  std::set<std::string> known;
  PlanOptions options;
  options.seeds = 1;
  for (const CatalogueFault& fault : catalogue)
    for (const auto* patterns : {&fault.cases, &fault.also})
      for (const std::string& pattern : *patterns) {
        const auto expanded = cases_of(pattern, fault, runner.stages(), options);
        if (!expanded) return tl::unexpected(expanded.error());
        for (const Case& c : *expanded) {
          std::vector<Fill> fills{c.fill};
          if (c.fill == Fill::normal) fills = {Fill::normal, Fill::positive, Fill::cancelling, Fill::wide};
          std::erase_if(fills, [&](Fill fill) { return !suits(fill, c.input); });
          for (const Fill fill : fills) {
            Case one = held_out ? held_out_case(c, runner.stages(), held_out_seeds) : c;
            one.fill = fill;
            for (const std::string& path : runner.paths_for(one, fault.paths, true)) {
              Case key = one;
              key.seed = 0;
              if (known.insert(path + print_case(key, runner.stages())).second) cases.push_back({one, path});
            }
          }
        }
      }
  return cases;
}

}  // namespace parity::faults
