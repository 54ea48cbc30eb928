#include "harness/profile/profiled_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/profile/exact_function.hpp"

namespace parity {

namespace {

/// A function of the ladder's kernels with its place in the model.
struct ModelFunction {
  DeviceFunction function;
  FunctionAccuracy ArithmeticModel::*accuracy;
};
constexpr ModelFunction model_functions[] = {
    {DeviceFunction::exp, &ArithmeticModel::exp},
    {DeviceFunction::log, &ArithmeticModel::log},
    {DeviceFunction::tanh, &ArithmeticModel::tanh},
    {DeviceFunction::sigmoid, &ArithmeticModel::sigmoid},
    {DeviceFunction::sqrt, &ArithmeticModel::sqrt},
    {DeviceFunction::inverse_sqrt, &ArithmeticModel::inverse_sqrt},
    {DeviceFunction::div, &ArithmeticModel::divide},
};

std::string accuracy_text(const FunctionAccuracy& a) {
  if (correctly_rounded(a)) return "correctly rounded";
  std::string text = fmt::format("{:.4g}", a.base_ulp);
  if (a.slope_ulp > 0) text += fmt::format(" + {:.4g}|x|", a.slope_ulp);
  text += " ULP";
  if (a.absolute > 0) text += fmt::format(" + {:.3g}", a.absolute);
  return text;
}

/// Near 1 a logarithm has an absolute error only.
bool near_one(const FunctionMeasure& m, const BinadeError& b) {
  return m.function == DeviceFunction::log && !b.negative && (b.exponent == -1 || b.exponent == 0);
}

bool no_worse(const FunctionAccuracy& a, const FunctionAccuracy& than) {
  return a.base_ulp <= than.base_ulp && a.slope_ulp <= than.slope_ulp && a.absolute <= than.absolute;
}

/// The measure of a function over the largest set there is.
const FunctionMeasure* best_measure(const DeviceProfile& profile, DeviceFunction function) {
  const FunctionMeasure* best = nullptr;
  for (const FunctionMeasure& m : profile.functions)
    if (m.function == function && m.format == DType::f32 &&
        (best == nullptr || m.arguments > best->arguments))
      best = &m;
  return best;
}

const char* mode_text(Denormals mode) {
  return mode == Denormals::preserve ? "kept" : mode == Denormals::flush ? "flushed" : "kept or flushed";
}

}  // namespace

std::string ProfileUse::text() const {
  std::string text =
      fmt::format("tightened: {}",
                  tightened.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(tightened, "; ")));
  if (!inconclusive.empty()) text += fmt::format(". Inconclusive: {}", fmt::join(inconclusive, "; "));
  return text;
}

Result<void> check_profile(const DeviceProfile& profile, const DeviceInfo& device) {
  const struct {
    const char* what;
    const std::string &of_profile, &of_device;
  } fields[] = {{"backend", profile.device.backend, device.backend},
                {"device", profile.device.name, device.name},
                {"driver", profile.device.driver, device.driver},
                {"interface", profile.device.api, device.api}};
  for (const auto& field : fields)
    if (field.of_profile != field.of_device)
      return bad_input(
          fmt::format("the profile is of the {} '{}', {} has '{}': make its own with `parity probe --device "
                      "{} --only profile "
                      "--out DIR`",
                      field.what, field.of_profile, device.id, field.of_device, device.id));
  return {};
}

Result<FunctionAccuracy> measured_accuracy(const FunctionMeasure& m, const FunctionAccuracy& promised) {
  const auto refuse = [&](const std::string& why) { return fail(ErrorKind::unsupported, why); };
  if (!m.exhaustive)
    return refuse(m.function == DeviceFunction::div ? "not all pairs of arguments can be measured"
                                                    : fmt::format("measured over {} only", m.arguments_text));
  if (m.breaks > 0) return refuse("it breaks what is promised");
  if (m.not_a_number > 0) return refuse(fmt::format("it is NaN for {} arguments", m.not_a_number));
  const std::int64_t odd = m.subnormal_arguments.wrong + m.subnormal_arguments.undefined +
                           m.subnormal_results.wrong + m.subnormal_results.undefined;
  if (odd > 0) return refuse(fmt::format("{} subnormals are neither kept nor flushed", odd));
  // Correctly rounded means known bits: only with subnormals in order.
  const bool ordinary = m.subnormal_arguments.flushed == 0 && m.subnormal_results.flushed == 0;
  if (m.not_rounded == 0 && ordinary) return FunctionAccuracy{};

  FunctionAccuracy measured;
  measured.absolute = promised.absolute;
  double near = 0;
  for (const BinadeError& b : m.binades) {
    if (near_one(m, b))
      near = std::max(near, b.max_absolute);
    else if (promised.slope_ulp == 0 || b.exponent < 0)
      measured.base_ulp = std::max(measured.base_ulp, b.max_ulp);
  }
  // |x| >= 2^exponent in a binade: what is above the base is below slope |x| there.
  for (const BinadeError& b : m.binades)
    if (promised.slope_ulp > 0 && b.exponent >= 0)
      measured.slope_ulp =
          std::max(measured.slope_ulp, (b.max_ulp - measured.base_ulp) * std::ldexp(1.0, -b.exponent));
  measured.base_ulp += screen_margin_ulp;
  if (m.function == DeviceFunction::log) measured.absolute = near * (1 + 1e-6);
  if (!no_worse(measured, promised))
    return refuse(
        fmt::format("measured {}, no better than {}", accuracy_text(measured), accuracy_text(promised)));
  return measured;
}

Result<std::unique_ptr<ProfiledDevice>> ProfiledDevice::create(Device& device, const DeviceProfile& profile) {
  if (auto fits = check_profile(profile, device.info()); !fits) return tl::unexpected(fits.error());
  std::unique_ptr<ProfiledDevice> made(new ProfiledDevice(device));
  ProfileUse& use = made->use_;
  const auto declared = std::ranges::find_if(made->stated(), [](const Implementation& i) {
    return i.op == device_function_op && i.stores.front() == DType::f32;
  });
  if (declared == made->stated().end())
    return fail(ErrorKind::unsupported,
                fmt::format("{} has no kernel that a profile is about", device.info().id));
  const ArithmeticModel promised = declared->contract;

  const Denormals mode = denormals_of(profile.answers, "fp32");
  const bool settles = promised.denormals == Denormals::either && mode != Denormals::either;
  if (settles)
    use.tightened.push_back(fmt::format("subnormals: {}", mode_text(mode)));
  else if (promised.denormals == Denormals::either)
    use.inconclusive.emplace_back("subnormals: not the same in all operations");

  std::vector<std::pair<const ModelFunction*, FunctionAccuracy>> better;
  for (const ModelFunction& f : model_functions) {
    const FunctionAccuracy& was = promised.*f.accuracy;
    if (correctly_rounded(was)) continue;  // nothing is tighter
    const FunctionMeasure* measure = best_measure(profile, f.function);
    const auto accuracy = measure == nullptr
                              ? Result<FunctionAccuracy>(fail(ErrorKind::unsupported, "not measured"))
                              : measured_accuracy(*measure, was);
    if (accuracy) {
      better.emplace_back(&f, *accuracy);
      use.tightened.push_back(
          fmt::format("{}: {} for {}", name_of(f.function), accuracy_text(*accuracy), accuracy_text(was)));
    } else {
      use.inconclusive.push_back(fmt::format("{}: {}", name_of(f.function), accuracy.error().message));
    }
  }

  for (Implementation& implementation : made->stated()) {
    // A vendor's kernels were not asked.
    if (implementation.knowledge != OrderKnowledge::declared) continue;
    const auto& accumulation = implementation.contract.accumulation;
    // A matrix unit has subnormals of its own.
    const bool scalar = accumulation && accumulation->multiply_add != MultiplyAdd::multi_term;
    const auto tighten = [&](ArithmeticModel& model) {
      for (const auto& [f, accuracy] : better) model.*f->accuracy = accuracy;
      if (settles && scalar && model.denormals == Denormals::either) model.denormals = mode;
    };
    if (settles && scalar && implementation.contract.denormals == Denormals::either)
      std::erase_if(implementation.replays, [&](const ArithmeticModel& m) { return m.denormals != mode; });
    tighten(implementation.contract);
    for (ArithmeticModel& model : implementation.replays) tighten(model);
  }
  return made;
}

}  // namespace parity
