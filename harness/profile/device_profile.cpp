#include "harness/profile/device_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/profile/exact_function.hpp"

namespace parity {

namespace {

std::string argument_text(const FunctionMeasure& measure, const MeasuredArgument& argument) {
  const bool quotient = measure.function == DeviceFunction::div;
  const std::string where =
      quotient ? fmt::format("{:.9g} / {:.9g} ({:a} / {:a})", argument.a, argument.b, argument.a, argument.b)
               : fmt::format("{}({:.9g}) ({:a})", name_of(measure.function), argument.a, argument.a);
  return fmt::format("{} = {:.9g}, exact {:.12g}", where, argument.got, argument.want);
}

void append_class(std::string& text, const FunctionMeasure& measure, const MeasuredClass& c,
                  const char* what) {
  if (c.wrong == 0) return;
  text += fmt::format("{}{} of {} {} wrong, first {}", text.empty() ? "" : "; ", c.wrong, c.arguments, what,
                      argument_text(measure, c.first_wrong));
}

}  // namespace

std::string finding_of(const FunctionMeasure& m) {
  std::string text;
  if (m.breaks > 0) {
    const MeasuredArgument& worst = m.worst_break;
    text = fmt::format("{} of {} arguments beyond {}, worst {}: {:.6g} ULP, promised {:.6g}", m.breaks,
                       m.regular, m.promise.text, argument_text(m, worst), worst.ulp, worst.limit);
  }
  if (m.promise.given) {
    append_class(text, m, m.subnormal_arguments, "subnormal arguments");
    append_class(text, m, m.subnormal_results, "subnormal results");
    if (!m.may_flush && m.subnormal_arguments.flushed + m.subnormal_results.flushed > 0)
      text +=
          fmt::format("{}{} subnormal arguments and {} subnormal results flushed", text.empty() ? "" : "; ",
                      m.subnormal_arguments.flushed, m.subnormal_results.flushed);
  }
  if (m.promise.specials) append_class(text, m, m.specials, "results of NaN or Inf");
  if (text.empty()) return text;
  return fmt::format("{} ({}, {}): {}", name_of(m.function), m.format == DType::f16 ? "fp16" : "fp32",
                     m.arguments_text, text);
}

bool is_software(const DeviceInfo& device) {
  if (device.backend == "cpu") return true;
  return std::ranges::any_of(
      device.facts, [](const DeviceFact& fact) { return fact.name == "device_type" && fact.value == "CPU"; });
}

std::vector<std::string> DeviceProfile::findings() const {
  std::vector<std::string> found;
  for (const ProfileAnswer& answer : answers)
    if (!answer.finding.empty()) found.push_back(answer.finding);
  for (const FunctionMeasure& measure : functions)
    if (std::string finding = finding_of(measure); !finding.empty()) found.push_back(std::move(finding));
  return found;
}

Result<DeviceProfile> profile_device(Device& device, const ProfileOptions& options,
                                     const std::function<void(const std::string&)>& progress) {
  if (!has_exact_functions()) return fail(ErrorKind::unsupported, std::string(no_exact_functions));
  DeviceProfile profile;
  profile.device = device.info();
  int paths = 0;
  for (const Implementation& implementation : device.implementations()) {
    if (implementation.op != device_function_op) continue;
    ++paths;
    const Support support = device.supports(implementation);
    if (!support.legal()) {
      profile.notes.push_back(fmt::format("{}: {}", implementation.path, support.reason));
      continue;
    }
    progress(fmt::format("{}: rounding, subnormals, NaN", implementation.path));
    auto answers = ask_arithmetic(device, implementation);
    if (!answers) return tl::unexpected(answers.error());
    std::ranges::move(*answers, std::back_inserter(profile.answers));
    auto measures = measure_functions(device, implementation, options, profile.absent, progress);
    if (!measures) return tl::unexpected(measures.error());
    std::ranges::move(*measures, std::back_inserter(profile.functions));
  }
  if (paths == 0)
    return fail(ErrorKind::unsupported,
                fmt::format("{} has no kernel that could be asked", device.info().id));
  progress("conversions");
  auto conversions = ask_conversions(device);
  if (!conversions) return tl::unexpected(conversions.error());
  std::ranges::move(*conversions, std::back_inserter(profile.answers));
  progress("sums of products");
  auto adders = ask_adders(device);
  if (!adders) return tl::unexpected(adders.error());
  std::ranges::move(*adders, std::back_inserter(profile.answers));
  return profile;
}

}  // namespace parity
