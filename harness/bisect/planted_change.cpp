#include "harness/bisect/planted_change.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "harness/base/nearest.hpp"
#include "harness/base/text.hpp"

namespace parity {
namespace {

constexpr std::string_view change_form =
    "TENSOR[I, J] times NUMBER [at|from step N], TENSOR unwritten, or TENSOR reads A in place of B";

/// What stands before `word` (a word of its own) and behind it.
bool split_at(std::string_view text, std::string_view word, std::string_view& before,
              std::string_view& behind) {
  const std::string sought = fmt::format(" {} ", word);
  const std::size_t at = text.find(sought);
  if (at == text.npos) return false;
  before = trimmed(text.substr(0, at));
  behind = trimmed(text.substr(at + sought.size()));
  return true;
}

/// The first kernel of the device that takes the call.
Result<std::string> path_of(const Device& device, const OpCall& call, const Program& program) {
  for (const Implementation& implementation : device.implementations())
    if (implementation.op == call.op && device.supports(implementation, call, program).legal())
      return implementation.path;
  return fail(ErrorKind::unsupported,
              fmt::format("{} has no kernel of '{}' for what is to be planted", device.info().id, call.op));
}

/// Multiplies by ones, but for the elements that go wrong in a step that does.
class PlantedSession final : public Session {
 public:
  PlantedSession(std::unique_ptr<Session> inner, TensorId factors, Tensor right, Tensor wrong,
                 std::function<bool()> goes_wrong)
      : inner_(std::move(inner)),
        factors_(factors),
        right_(std::move(right)),
        wrong_(std::move(wrong)),
        goes_wrong_(std::move(goes_wrong)) {}

  Result<void> write(TensorId id, const Tensor& tensor) override { return inner_->write(id, tensor); }
  Result<RunTiming> run() override {
    const bool now = goes_wrong_();
    if (now != held_) {
      if (auto ok = inner_->write(factors_, now ? wrong_ : right_); !ok) return tl::unexpected(ok.error());
      held_ = now;
    }
    return inner_->run();
  }
  Result<Tensor> read(TensorId id) override { return inner_->read(id); }
  Result<void> advance() override { return inner_->advance(); }
  Result<std::vector<GuardDamage>> check_guards() override { return inner_->check_guards(); }

 private:
  std::unique_ptr<Session> inner_;
  TensorId factors_;
  Tensor right_, wrong_;
  std::function<bool()> goes_wrong_;
  std::optional<bool> held_;  ///< which of the two the device holds
};

struct Target {
  std::size_t call = 0, port = 0;
  TensorId tensor = no_tensor;
};

Result<Target> target_in(const Program& program, const std::string& name) {
  const auto id = program.find(name);
  if (id)
    for (std::size_t call = 0; call < program.calls.size(); ++call) {
      const auto& outputs = program.calls[call].outputs;
      const auto found = std::ranges::find(outputs, *id);
      if (found != outputs.end()) return Target{call, static_cast<std::size_t>(found - outputs.begin()), *id};
    }
  std::vector<std::string_view> names;
  for (const OpCall& call : program.calls)
    for (const TensorId output : call.outputs)
      if (output != no_tensor) names.push_back(program.spec(output).name);
  return bad_input(fmt::format(
      "no call of the program makes a tensor '{}'{}; among them are {}", name, suggestion(name, names),
      fmt::join(names.begin(),
                names.begin() + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(names.size()), 12),
                ", ")));
}

/// A tensor like `like`, with memory of its own.
TensorId add_like(Program& program, TensorId like, const char* name, TensorSpec::Role role) {
  TensorSpec spec{name, program.spec(like).dtype, program.spec(like).shape, {}, role};
  spec.strides = contiguous_strides(spec.shape);
  program.tensors.push_back(std::move(spec));
  return static_cast<TensorId>(program.tensors.size() - 1);
}

}  // namespace

Result<ElementPlace> parse_place(std::string_view text) {
  const std::string_view whole = trimmed(text);
  const std::size_t open = whole.find('[');
  if (open == 0 || open == whole.npos || whole.back() != ']')
    return bad_input(fmt::format("'{}' is no place; it has the form TENSOR[I, J], '*' for all", whole));
  ElementPlace place{std::string(trimmed(whole.substr(0, open))), {}};
  std::string_view rest = whole.substr(open + 1, whole.size() - open - 2);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = trimmed(rest.substr(0, comma));
    const auto number = parse_number<std::int64_t>(word);
    if (number.value_or(-1) < 0 && word != "*")
      return bad_input(fmt::format("'{}' of '{}' is no index; give a whole number or '*'", word, whole));
    place.index.push_back(number);
    more = comma != rest.npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return place;
}

Result<std::vector<std::int64_t>> elements_at(const ElementPlace& place, const Shape& shape) {
  bool fits = place.index.size() == shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = place.index[d].value_or(0) < shape[d];
  if (!fits) return bad_input(fmt::format("'{}' has shape {}", place.tensor, to_string(shape)));
  std::vector<std::int64_t> elements{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t e : elements)
      for (std::int64_t i = place.index[d].value_or(0); i < (place.index[d] ? *place.index[d] + 1 : shape[d]);
           ++i)
        next.push_back(e * shape[d] + i);
    elements = std::move(next);
  }
  return elements;
}

Result<PlantedChange> parse_change(std::string_view text) {
  const std::string_view whole = trimmed(text);
  PlantedChange change;
  std::string_view before, behind;
  if (whole.ends_with(" unwritten")) {
    change.kind = PlantedChange::Kind::unwritten;
    change.place.tensor = trimmed(whole.substr(0, whole.size() - 10));
    return change;
  }
  if (split_at(whole, "reads", before, behind)) {
    change.kind = PlantedChange::Kind::reads;
    change.place.tensor = before;
    std::string_view read, other;
    if (!split_at(behind, "in place of", read, other))
      return bad_input(fmt::format("'{}' is no change; it has the form {}", whole, change_form));
    change.read = read, change.in_place_of = other;
    return change;
  }
  if (!split_at(whole, "times", before, behind))
    return bad_input(fmt::format("'{}' is no change; it has the form {}", whole, change_form));
  auto place = parse_place(before);
  if (!place) return tl::unexpected(place.error());
  change.place = *std::move(place);
  std::string_view number = behind, step;
  change.later_too = split_at(behind, "from step", number, step);
  if (change.later_too || split_at(behind, "at step", number, step)) {
    change.step = parse_number<std::int64_t>(step);
    if (change.step.value_or(-1) < 0) return bad_input(fmt::format("'{}' is no step", step));
  }
  const auto factor = parse_number<double>(number);
  if (!factor) return bad_input(fmt::format("'{}' is no number", number));
  change.factor = *factor;
  return change;
}

Result<std::unique_ptr<Session>> PlantedDevice::load(const Program& program,
                                                     const std::vector<std::string>& paths) {
  // Calibrations and calls that run alone are programs too, and stay right.
  if (planted_) return device().load(program, paths);
  const auto target = target_in(program, change_.place.tensor);
  if (!target) return tl::unexpected(target.error());
  Program changed = program;
  std::vector<std::string> chosen = paths;
  OpCall& call = changed.calls[target->call];
  if (change_.kind == PlantedChange::Kind::reads) {
    const auto read = program.find(change_.read), other = program.find(change_.in_place_of);
    const bool known = read && other && std::ranges::find(call.inputs, *other) != call.inputs.end();
    if (!known || program.spec(*read).shape != program.spec(*other).shape ||
        program.spec(*read).dtype != program.spec(*other).dtype)
      return bad_input(fmt::format("the call that makes '{}' cannot read '{}' in place of '{}'",
                                   change_.place.tensor, change_.read, change_.in_place_of));
    std::ranges::replace(call.inputs, *other, *read);
    planted_ = true;
    return device().load(changed, chosen);
  }
  const TensorId aside =
      add_like(changed, target->tensor, "planted: the right result", TensorSpec::Role::intermediate);
  changed.calls[target->call].outputs[target->port] = aside;
  if (change_.kind == PlantedChange::Kind::unwritten) {
    planted_ = true;
    return device().load(changed, chosen);
  }
  const TensorSpec& spec = program.spec(target->tensor);
  const auto elements = elements_at(change_.place, spec.shape);
  if (!elements) return tl::unexpected(elements.error());
  auto right = Tensor::create(spec.dtype, spec.shape);
  if (!right) return tl::unexpected(right.error());
  for (std::int64_t i = 0; i < right->elements(); ++i) right->set_value(i, 1);
  Tensor wrong = *right;
  for (const std::int64_t i : *elements) wrong.set_value(i, change_.factor);
  const TensorId factors = add_like(changed, target->tensor, "planted: factors", TensorSpec::Role::input);
  const OpCall multiply{"mul", {}, {aside, factors}, {target->tensor}};
  const auto path = path_of(device(), multiply, changed);
  if (!path) return tl::unexpected(path.error());
  const auto behind = static_cast<std::ptrdiff_t>(target->call) + 1;
  changed.calls.insert(changed.calls.begin() + behind, multiply);
  chosen.insert(chosen.begin() + behind, *path);
  auto session = device().load(changed, chosen);
  if (!session) return session;
  planted_ = true;
  return std::make_unique<PlantedSession>(
      *std::move(session), factors, *std::move(right), std::move(wrong), [this] {
        if (!change_.step) return true;
        return change_.later_too ? step_ >= *change_.step : step_ == *change_.step;
      });
}

}  // namespace parity
