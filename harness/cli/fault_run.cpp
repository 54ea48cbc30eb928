#include "harness/cli/fault_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>

#include "harness/cli/case_filter.hpp"
#include "harness/cli/version.hpp"

namespace parity::cli {

Result<std::vector<faults::CatalogueFault>> read_catalogue(const std::vector<std::string>& filter) {
  std::vector<faults::CatalogueFault> catalogue;
  for (const CatalogueFile& file : embedded_catalogue()) {
    auto part = faults::parse_catalogue(file.text, std::string(file.name));
    if (!part) return part;
    for (faults::CatalogueFault& fault : *part) {
      const std::string text =
          fmt::format("{} {} {} {}", fault.name, fault.corruption, fault.what, fmt::join(fault.cases, " "));
      if (fits_filter(text, filter)) catalogue.push_back(std::move(fault));
    }
  }
  return catalogue;
}

namespace {

class FaultRunner {
 public:
  FaultRunner(const Context& context, const FaultRequest& request, Device& device, FaultyDevices& faulty,
              const FaultProgress& progress)
      : request_(request),
        device_(device),
        faulty_(faulty),
        progress_(progress),
        trials_(context.ops, context.stages, device, request.withhold_order, request.repeats) {
    const Provenance program = provenance();
    const DeviceInfo& info = device.info();
    run_.device = info.id;
    run_.name = info.name;
    run_.driver = info.driver;
    run_.api = info.api;
    run_.commit = program.commit;
    run_.started = program.started;
    run_.order_withheld = request.withhold_order;
    run_.held_out = request.plan.held_out;
    run_.seeds = request.plan.seeds;
    run_.repeats = request.repeats;
  }

  Result<FaultRun> run(std::span<const faults::CatalogueFault> catalogue) {
    auto planned = faults::plan_trials(catalogue, trials_, request_.plan);
    if (!planned) return tl::unexpected(planned.error());
    for (const auto& plan : *planned) total_ += plan.trials.size();
    if (auto ok = progress_.keep(begin_line(run_)); !ok) return tl::unexpected(ok.error());
    for (const faults::PlannedFault& plan : *planned) {
      if (progress_.stop()) return std::move(run_);
      if (auto ok = run_fault(plan); !ok) return tl::unexpected(ok.error());
    }
    if (auto ok = run_healthy(catalogue); !ok) return tl::unexpected(ok.error());
    run_.complete = !progress_.stop();
    if (run_.complete)
      if (auto ok = progress_.keep(end_line()); !ok) return tl::unexpected(ok.error());
    return std::move(run_);
  }

 private:
  /// The reason the catalogue has for a miss on this device, or without any order of summation.
  std::string known_miss(const faults::CatalogueFault& fault) const {
    if (request_.withhold_order)
      for (const DeviceReason& miss : fault.misses)
        if (miss.where == "withheld") return miss.reason;
    return reason_for(fault.misses, device_.info());
  }

  Result<void> run_fault(const faults::PlannedFault& plan) {
    const faults::CatalogueFault& fault = *plan.fault;
    FaultEntry entry{
        fault.name,  fault.what,       0, fault.corruption.empty() ? "kernel" : fault.corruption, "",
        plan.absent, known_miss(fault)};
    if (const auto* kind = faults::find_corruption(fault.corruption)) entry.severity_unit = kind->severity;
    if (const auto first = expand_pattern(fault.cases.front(), trials_.stages()); first && !first->empty())
      entry.rung = trials_.stages().find(first->front().stage)->rung();
    Device* faulty = nullptr;
    if (entry.absent.empty() && fault.corruption.empty()) {
      auto made = faulty_.with(fault.name, device_);
      if (made)
        faulty = *made;
      else
        entry.absent = made.error().message;
    }
    if (auto ok = progress_.keep(to_json_line(entry)); !ok) return ok;
    run_.entries.push_back(entry);
    if (!entry.absent.empty()) {
      done_ += plan.trials.size();
      return {};
    }
    for (const faults::Trial& trial : plan.trials) {
      if (progress_.stop()) return {};
      progress_.begin(++done_, total_, fmt::format("{} {} {}", device_.info().id, fault.name, trial.path));
      faults::TrialResult result = guarded(trial, faulty);
      if (auto ok = progress_.keep(to_json_line(result)); !ok) return ok;
      run_.trials.push_back(std::move(result));
    }
    return {};
  }

  /// An exception out of one trial ends that trial.
  faults::TrialResult guarded(const faults::Trial& trial, Device* faulty) {
    try {
      return trials_.run(trial, faulty);
    } catch (const std::exception& error) {
      faults::TrialResult result;
      result.fault = trial.fault->name;
      result.path = trial.path;
      result.device = device_.info().id;
      result.outcome = faults::Outcome::unhealthy;
      result.verdict = Verdict::crash;
      result.reason = fmt::format("the harness failed: {}", error.what());
      return result;
    }
  }

  Result<void> run_healthy(std::span<const faults::CatalogueFault> catalogue) {
    if (request_.healthy <= 0) return {};
    auto cases = faults::healthy_cases(catalogue, trials_, request_.plan.held_out);
    if (!cases) return tl::unexpected(cases.error());
    std::int64_t tensors = 0;
    // Rounds with new seeds; a round in which nothing could be judged would repeat itself.
    for (std::uint64_t round = 0; tensors < request_.healthy; ++round) {
      const std::int64_t before = tensors;
      for (faults::HealthyCase& one : *cases) {
        if (progress_.stop() || tensors >= request_.healthy) return {};
        one.c.seed =
            10'000 * (round + 1) + request_.plan.first_seed + (request_.plan.held_out ? 1'000'000 : 0);
        progress_.begin(static_cast<std::size_t>(tensors + 1), static_cast<std::size_t>(request_.healthy),
                        fmt::format("{} healthy tensors", device_.info().id));
        const faults::HealthyRun& healthy = trials_.healthy(one.c, one.path);
        if (healthy.verdict == Verdict::unsupported || healthy.verdict == Verdict::untrusted) continue;
        HealthyEntry entry{print_case(one.c, trials_.stages()),
                           one.path,
                           0,
                           healthy.tensors,
                           healthy.verdict,
                           healthy.findings,
                           healthy.thresholds,
                           healthy.reason};
        entry.rung = trials_.stages().find(one.c.stage)->rung();
        tensors += healthy.tensors;
        if (auto ok = progress_.keep(to_json_line(entry)); !ok) return ok;
        run_.healthy.push_back(std::move(entry));
      }
      if (tensors == before) return {};
    }
    return {};
  }

  const FaultRequest& request_;
  Device& device_;
  FaultyDevices& faulty_;
  const FaultProgress& progress_;
  faults::TrialRunner trials_;
  FaultRun run_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace

Result<FaultRun> run_faults(const Context& context, const FaultRequest& request,
                            std::span<const faults::CatalogueFault> catalogue, Device& device,
                            FaultyDevices& faulty, const FaultProgress& progress) {
  return FaultRunner(context, request, device, faulty, progress).run(catalogue);
}

}  // namespace parity::cli
