#include "harness/cli/user_inputs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>

#include "harness/cli/output.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/safetensors.hpp"

namespace parity::cli {
namespace {

Result<void> check_nan(const std::string& name, const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return {};
  const std::vector<double> values = to_doubles(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) continue;
    std::string index;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = tensor.shape().size(); d-- > 0;) {
      const std::int64_t size = tensor.shape()[d];
      index = fmt::format("{}{}{}", rest % size, index.empty() ? "" : ", ", index);
      rest /= size;
    }
    return bad_input(
        fmt::format("input {} {} holds a NaN at [{}]; --nan allow judges it (only outputs that depend on "
                    "it may be NaN)",
                    name, to_string(tensor.shape()), index));
  }
  return {};
}

std::int64_t infinities(const Tensor& tensor) {
  const std::vector<double> values = to_doubles(tensor);
  return std::count_if(values.begin(), values.end(), [](double value) { return std::isinf(value); });
}

std::int64_t changed_elements(const Tensor& before, const Tensor& after) {
  const std::vector<double> a = to_doubles(before), b = to_doubles(after);
  return std::inner_product(a.begin(), a.end(), b.begin(), std::int64_t{0}, std::plus<>(),
                            [](double x, double y) { return std::int64_t{x != y}; });
}

/// The value of `name=` among the words of a case text, or null.
const std::string* word_of(const std::map<std::string, std::string>& words, std::string_view name) {
  const auto found = words.find(std::string(name));
  return found == words.end() ? nullptr : &found->second;
}

std::map<std::string, std::string> words_of(const std::string& text) {
  std::map<std::string, std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != word.npos) words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return words;
}

std::string value_text(const Attributes& parameters, std::string_view name) {
  const auto found = parameters.all().find(name);
  if (found == parameters.all().end()) return {};
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, found->second);
}

/// The text with `placeholder` for every required dimension it leaves out.
std::string completed(const std::string& text, const Stage& stage,
                      const std::map<std::string, std::string>& words, int placeholder) {
  std::string complete = text;
  for (const Parameter& parameter : stage.parameters())
    if (parameter.required && !word_of(words, parameter.name))
      complete += fmt::format(" {}={}", parameter.name, placeholder);
  return complete;
}

Result<void> check_bound(const Case& one, const Case& two, const Stage& stage,
                         const std::map<std::string, std::string>& words) {
  for (const Parameter& parameter : stage.parameters()) {
    const std::string value = value_text(one.parameters, parameter.name);
    if (value != value_text(two.parameters, parameter.name))
      return bad_input(
          fmt::format("the case needs {}= ({}): no input given sets it", parameter.name, parameter.help));
  }
  for (const auto& word : words) {
    const auto& [name, given] = word;
    const auto is = [&](const Parameter& p) { return p.name == word.first; };
    const auto parameter = std::find_if(stage.parameters().begin(), stage.parameters().end(), is);
    if (parameter == stage.parameters().end() || !std::holds_alternative<std::int64_t>(parameter->fallback))
      continue;
    const std::string bound = value_text(one.parameters, name);
    if (given.find_first_not_of("0123456789") == given.npos && given != bound)
      return bad_input(fmt::format("the case says {}={} but with the inputs it is {}", name, given, bound));
  }
  return {};
}

/// The tensors in the dtypes the case's Program wants.
Result<BoundCase> converted(Case c, const Stage& stage, const UserInputs& inputs) {
  auto program = stage.build(c);
  if (!program) return tl::unexpected(program.error());
  BoundCase bound{std::move(c), {}, {}};
  for (const auto& [name, tensor] : inputs.tensors) {
    const auto id = program->find(name);
    if (!id) return bad_input(fmt::format("the case has no input {}", name));
    const DType wanted = program->spec(*id).dtype;
    if (tensor.dtype() != wanted)
      bound.notes.push_back(fmt::format("input {} is {} in its file and is rounded to {}, as the case asks",
                                        name, name_of(tensor.dtype()), name_of(wanted)));
    auto made = convert(tensor, wanted);
    if (!made) return tl::unexpected(made.error());
    if (!is_float(wanted))
      if (const std::int64_t changed = changed_elements(tensor, *made); changed > 0)
        return bad_input(
            fmt::format("input {}: {} of {} elements are no {} (not whole, or outside its range)", name,
                        changed, tensor.elements(), name_of(wanted)));
    if (const std::int64_t lost = infinities(*made) - infinities(tensor); lost > 0)
      bound.notes.push_back(
          fmt::format("input {}: {} of {} elements are too large for {} and became infinite", name, lost,
                      tensor.elements(), name_of(wanted)));
    bound.tensors.emplace(name, std::move(*made));
  }
  return bound;
}

}  // namespace

Result<UserInputs> read_user_inputs(const std::vector<std::string>& arguments, NanPolicy nan) {
  UserInputs inputs;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == argument.npos || equals == 0 || equals + 1 == argument.size())
      return bad_input(
          fmt::format("--input {}: write NAME=FILE.npy or NAME=FILE.safetensors:TENSOR", argument));
    const std::string name = argument.substr(0, equals), source = argument.substr(equals + 1);
    auto tensor = read_tensor(source);
    if (!tensor)
      return fail(tensor.error().kind, fmt::format("--input {}: {}", name, tensor.error().message));
    if (nan == NanPolicy::reject)
      if (auto checked = check_nan(name, *tensor); !checked) return tl::unexpected(checked.error());
    inputs.sources[name] = fmt::format("{} #{:016x}", source, content_hash(*tensor));
    inputs.repro += " --input " + shell_quoted(argument);
    if (!inputs.tensors.emplace(name, std::move(*tensor)).second)
      return bad_input(fmt::format("--input {} is given twice", name));
  }
  if (nan == NanPolicy::allow && !inputs.empty()) inputs.repro += " --nan allow";
  return inputs;
}

Result<std::vector<BoundCase>> bind_inputs(const std::string& text, const UserInputs& inputs,
                                           const StageTable& stages) {
  std::string stage_name;
  std::istringstream(text) >> stage_name;
  const Stage* stage = stages.find(stage_name);
  if (!stage) return bad_input(fmt::format("no rung is called '{}'; `parity list` shows them", stage_name));
  const std::map<std::string, std::string> words = words_of(text);

  std::string base = text;
  if (!word_of(words, "in") && !inputs.empty()) {
    const auto& [first_name, first] = *inputs.tensors.begin();
    for (const auto& [name, tensor] : inputs.tensors)
      if (tensor.dtype() != first.dtype())
        return bad_input(
            fmt::format("input {} is {} and input {} is {}; say in= in the case (--case '{} in=f16')",
                        first_name, name_of(first.dtype()), name, name_of(tensor.dtype()), text));
    base += fmt::format(" in={}", name_of(first.dtype()));
  }
  auto ones = expand_pattern(completed(base, *stage, words, 1), stages);
  if (!ones) return tl::unexpected(ones.error());
  auto twos = expand_pattern(completed(base, *stage, words, 2), stages);
  if (!twos) return tl::unexpected(twos.error());

  std::vector<BoundCase> bound;
  for (std::size_t i = 0; i < ones->size(); ++i) {
    auto one = stage->bind((*ones)[i], inputs.tensors);
    if (!one) return tl::unexpected(one.error());
    auto two = stage->bind((*twos)[i], inputs.tensors);
    if (!two) return tl::unexpected(two.error());
    if (auto checked = check_bound(*one, *two, *stage, words); !checked)
      return tl::unexpected(checked.error());
    auto ready = converted(std::move(*one), *stage, inputs);
    if (!ready) return tl::unexpected(ready.error());
    bound.push_back(std::move(*ready));
  }
  return bound;
}

}  // namespace parity::cli
