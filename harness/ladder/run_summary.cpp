#include "harness/ladder/run_summary.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace parity {

namespace {

constexpr std::size_t most_unfolded = 48;
constexpr int most_not_passing = 16;

bool is_worse(const OutputRecord& a, const OutputRecord& b) {
  const auto ratio = [](const OutputRecord& o) { return o.judgement.statistics.max_bound_ratio; };
  return ratio(a) > ratio(b);
}

/// Any odd multiplier keeps the order of the calls apart.
std::uint64_t chained(std::uint64_t before, std::uint64_t bits) {
  return (std::rotl(before, 23) ^ bits) * 0x9e3779b97f4a7c15U;
}

}  // namespace

void fold(std::vector<OutputRecord> outputs, std::vector<OutputRecord>& into) {
  if (outputs.size() <= most_unfolded) {
    std::ranges::move(outputs, std::back_inserter(into));
    return;
  }
  int not_passing = 0;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (OutputRecord& output : outputs) {
    if (output.judgement.verdict != Verdict::pass && not_passing++ < most_not_passing) {
      into.push_back(std::move(output));
      continue;
    }
    const auto [place, fresh] = places.emplace(std::tuple(output.op, output.path, output.port), into.size());
    if (fresh) {
      into.push_back(std::move(output));
      continue;
    }
    OutputRecord& kept = into[place->second];
    const int calls = kept.calls + 1;
    const std::uint64_t bits = chained(kept.bits, output.bits);
    if (is_worse(output, kept)) kept = std::move(output);
    kept.calls = calls;
    kept.bits = bits;
  }
}

void extend_trajectories(const Program& program, const std::map<TensorId, Tensor>& results,
                         const ProgramEvaluation& exact, std::vector<Trajectory>& trajectories) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    const auto result = results.find(static_cast<TensorId>(i));
    if (spec.role != TensorSpec::Role::output || spec.shape != Shape{1} || result == results.end()) continue;
    auto place = std::ranges::find(trajectories, spec.name, &Trajectory::tensor);
    if (place == trajectories.end()) {
      trajectories.push_back({spec.name, {}, {}});
      place = std::prev(trajectories.end());
    }
    place->device.push_back(result->second.value(0));
    place->reference.push_back(exact.values.at(static_cast<TensorId>(i)).v.front());
  }
}

void CallTimes::keep_least(const std::vector<double>& seconds, std::vector<double>& least) {
  if (least.empty()) least = seconds;
  for (std::size_t i = 0; i < std::min(seconds.size(), least.size()); ++i)
    least[i] = std::min(least[i], seconds[i]);
}

std::vector<CallTime> CallTimes::summary() const {
  std::vector<CallTime> times;
  const std::size_t calls = program_.calls.size();
  if (calls < 2 || device_.size() != calls) return times;
  for (std::size_t i = 0; i < calls; ++i) {
    const std::string& op = program_.calls[i].op;
    const std::string& path = assignment_.implementations[i]->path;
    auto place = std::ranges::find_if(times, [&](const CallTime& t) { return t.op == op && t.path == path; });
    if (place == times.end()) {
      times.push_back({op, path, 0, 0, 0});
      place = std::prev(times.end());
    }
    ++place->calls;
    place->device_seconds += device_[i];
    if (reference_.size() == calls) place->reference_seconds += reference_[i];
  }
  return times;
}

}  // namespace parity
