// The arguments' way through a device: piece by piece, the host judging one piece while the device has the
// next.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "harness/profile/argument_set.hpp"
#include "harness/profile/device_profile.hpp"
#include "harness/profile/exact_function.hpp"
#include "harness/profile/function_calls.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

namespace {

constexpr std::int64_t largest_piece = std::int64_t{1} << 22;

/// Arguments of a piece, filled up with ones.
struct Piece {
  std::vector<float> arguments, partners;
  std::size_t count = 0;

  Piece(const ArgumentSet& set, std::int64_t first, std::int64_t size, std::uint64_t seed)
      : arguments(static_cast<std::size_t>(size), 1.0f),
        partners(static_cast<std::size_t>(size), 1.0f),
        count(static_cast<std::size_t>(std::min(size, set.count - first))) {
#pragma omp parallel for if (count > 65536)
    for (std::size_t i = 0; i < count; ++i) {
      arguments[i] = set.at(first + static_cast<std::int64_t>(i));
      partners[i] = partner_of(arguments[i], seed, set.format);
    }
  }
};

std::vector<FunctionMeter> meters_for(const DeviceInfo& device, const Implementation& implementation,
                                      const std::vector<DeviceFunction>& functions) {
  const DType format = implementation.stores.front();
  const bool may_flush = !arithmetic_promise(device, format).functions_keep_subnormals;
  std::vector<FunctionMeter> meters;
  for (const DeviceFunction function : functions)
    meters.emplace_back(function, format, binding_promise(function, device, implementation), may_flush);
  return meters;
}

void judge_piece(const Piece& piece, const std::vector<DeviceFunction>& functions,
                 const std::vector<Tensor>& results, std::vector<FunctionMeter>& meters) {
  const std::span<const float> arguments = std::span(piece.arguments).first(piece.count);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    std::vector<float> widened;
    std::span<const float> got;
    if (results[f].dtype() == DType::f32) {
      got = results[f].as<float>();
    } else {
      widened.resize(static_cast<std::size_t>(results[f].elements()));
      widen(results[f], std::span<float>(widened));
      got = widened;
    }
    got = got.first(piece.count);
    if (functions[f] == DeviceFunction::div)
      meters[f].take(std::span(piece.partners).first(piece.count), arguments, got);
    else
      meters[f].take(arguments, {}, got);
  }
}

Result<std::vector<FunctionMeasure>> measure_set(Device& device, const Implementation& implementation,
                                                 const std::vector<DeviceFunction>& functions,
                                                 const ArgumentSet& set, std::uint64_t seed,
                                                 const std::function<void(const std::string&)>& progress) {
  const std::int64_t size = std::min(set.count, largest_piece);
  auto calls = FunctionCalls::load(device, implementation, functions, size);
  if (!calls) return tl::unexpected(calls.error());
  std::vector<FunctionMeter> meters = meters_for(device.info(), implementation, functions);
  std::future<void> judging;
  const auto wait = [&judging] {
    if (judging.valid()) judging.get();
  };
  for (std::int64_t first = 0; first < set.count; first += size) {
    progress(fmt::format("{}: {}{}", implementation.path, set.text,
                         set.count > size ? fmt::format(", {} %", 100 * first / set.count) : ""));
    auto piece = std::make_shared<const Piece>(set, first, size, seed);
    auto results = std::make_shared<std::vector<Tensor>>();
    Result<void> done = calls->write(piece->arguments, piece->partners);
    if (done) done = calls->run();
    for (std::size_t f = 0; f < functions.size() && done; ++f) {
      auto result = calls->read(f);
      if (result)
        results->push_back(*std::move(result));
      else
        done = tl::unexpected(result.error());
    }
    wait();
    if (!done) return tl::unexpected(done.error());
    judging = std::async(std::launch::async, [piece, results, &functions, &meters] {
      judge_piece(*piece, functions, *results, meters);
    });
  }
  wait();
  std::vector<FunctionMeasure> measures;
  for (FunctionMeter& meter : meters) {
    measures.push_back(meter.finish());
    measures.back().arguments_text = set.text;
    // All divisors, each with one dividend, are not all quotients.
    measures.back().exhaustive = set.exhaustive && inputs_of(measures.back().function) == 1;
  }
  return measures;
}

}  // namespace

Result<std::vector<FunctionMeasure>> measure_functions(
    Device& device, const Implementation& implementation, const ProfileOptions& options,
    std::vector<AbsentFunction>& absent, const std::function<void(const std::string&)>& progress) {
  const DType format = implementation.stores.front();
  std::vector<DeviceFunction> wanted;
  for (const DeviceFunctionInfo& info : device_functions())
    if (has_exact_value(info.function) &&
        (options.functions.empty() ||
         std::ranges::find(options.functions, info.function) != options.functions.end()))
      wanted.push_back(info.function);
  const auto supported = supported_functions(device, implementation, wanted);
  if (!supported) return tl::unexpected(supported.error());
  for (const auto& a : supported->absent) absent.push_back({a.function, format, a.reason});
  std::vector<FunctionMeasure> measures;
  if (supported->functions.empty()) return measures;

  std::vector<ArgumentSet> sets{all_numbers(DType::f16, format)};
  if (format == DType::f32) {
    sets.push_back(all_numbers(DType::bf16, format));
    const bool everything = options.exhaustive.value_or(!is_software(device.info()));
    sets.push_back(everything ? all_fp32() : sample_fp32(options.sample, options.seed));
  }
  for (const ArgumentSet& set : sets) {
    auto measured = measure_set(device, implementation, supported->functions, set, options.seed, progress);
    if (!measured) return tl::unexpected(measured.error());
    std::ranges::move(*measured, std::back_inserter(measures));
  }
  return measures;
}

}  // namespace parity
