#include <fmt/format.h>

#include <algorithm>

#include "harness/faults/corruption.hpp"
#include "harness/tensor/random.hpp"

namespace parity::faults {

std::int64_t DamagedTensor::cols() const {
  return tensor.shape().empty() ? 1 : tensor.shape().back();
}
std::int64_t DamagedTensor::rows() const {
  return cols() == 0 ? 0 : tensor.elements() / cols();
}
std::int64_t DamagedTensor::batch_rows() const {
  return tensor.shape().size() > 2 ? tensor.shape()[tensor.shape().size() - 2] : rows();
}

std::int64_t DamagedTensor::place(std::int64_t count, std::uint64_t salt) const {
  if (count <= 1 || damage.position == 0) return 0;
  if (damage.position == 1) return count - 1;
  const PhiloxBlock block = philox(damage.seed, static_cast<std::uint64_t>(damage.position), salt);
  return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(count), block.word[0], block.word[1]));
}

namespace {

/// The program's last results: outputs of its last call, as far as they are its own to keep.
std::vector<TensorId> targets_of(const Program& program, bool all) {
  std::vector<TensorId> targets;
  for (auto call = program.calls.rbegin(); call != program.calls.rend() && targets.empty(); ++call)
    for (const TensorId id : call->outputs)
      if (program.spec(id).role == TensorSpec::Role::output && !program.spec(id).is_view())
        targets.push_back(id);
  if (!all && targets.size() > 1) targets.erase(targets.begin() + 1, targets.end());
  return targets;
}

class CorruptedSession final : public Session {
 public:
  CorruptedSession(const Program& program, const CorruptionKind& kind, const Damage& damage,
                   std::unique_ptr<Session> healthy, std::unique_ptr<Session> other)
      : program_(program),
        kind_(kind),
        damage_(damage),
        healthy_(std::move(healthy)),
        other_(std::move(other)),
        targets_(targets_of(program, kind.all_outputs)) {}

  Result<void> write(TensorId id, const Tensor& tensor) override {
    if (other_ != nullptr) {
      const TensorSpec& spec = program_.spec(id);
      const bool given = spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state;
      if (given) {
        Tensor changed = tensor;
        kind_.input(spec, damage_, changed);
        if (auto ok = other_->write(id, changed); !ok) return ok;
      }
    }
    return healthy_->write(id, tensor);
  }

  Result<RunTiming> run() override {
    auto timing = healthy_->run();
    if (!timing) return timing;
    ++run_;
    if (other_ != nullptr)
      if (auto ran = other_->run(); !ran) return ran;
    if (kind_.result)
      for (const TensorId id : targets_)
        if (auto ok = change(id); !ok) return tl::unexpected(ok.error());
    if (kind_.memory)
      if (auto ok = kind_.memory(program_, damage_, *healthy_); !ok) return tl::unexpected(ok.error());
    return timing;
  }

  Result<Tensor> read(TensorId id) override { return healthy_->read(id); }
  Result<void> advance() override { return kind_.forgets_to_advance ? Result<void>{} : healthy_->advance(); }
  Result<std::vector<GuardDamage>> check_guards() override { return healthy_->check_guards(); }

 private:
  Result<void> change(TensorId id) {
    auto tensor = healthy_->read(id);
    if (!tensor) return tl::unexpected(tensor.error());
    if (tensor->elements() == 0) return {};
    Tensor seen;
    if (other_ != nullptr) {
      auto read = other_->read(id);
      if (!read) return tl::unexpected(read.error());
      seen = *std::move(read);
    }
    kind_.result({*tensor, other_ != nullptr ? &seen : nullptr, damage_, run_});
    return healthy_->write(id, *tensor);
  }

  const Program program_;
  const CorruptionKind& kind_;
  const Damage damage_;
  std::unique_ptr<Session> healthy_, other_;
  std::vector<TensorId> targets_;
  int run_ = 0;
};

}  // namespace

Result<std::unique_ptr<Session>> load_corrupted(Device& healthy, const Program& program,
                                                const std::vector<std::string>& paths,
                                                const CorruptionKind& kind, const Damage& damage) {
  auto session = healthy.load(program, paths);
  if (!session) return session;
  std::unique_ptr<Session> other;
  if (kind.input) {
    Program second = program;
    if (kind.stores_f32)
      for (const TensorId id : targets_of(program, kind.all_outputs))
        second.tensors[static_cast<std::size_t>(id)].dtype = DType::f32;
    auto loaded = healthy.load(second, paths);
    if (!loaded) return loaded;
    other = *std::move(loaded);
  }
  return std::make_unique<CorruptedSession>(program, kind, damage, *std::move(session), std::move(other));
}

}  // namespace parity::faults
