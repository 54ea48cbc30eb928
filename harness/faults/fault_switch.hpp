#pragma once
#include <optional>

#include "harness/faults/corruption.hpp"

namespace parity::faults {

/// A healthy device that can be made faulty between two cases: its programs are then loaded on another device
/// (the same one with faulty kernels), or their results changed. What it declares stays as it is.
class FaultSwitch final : public Device {
 public:
  /// `withhold_order`: nothing is told of any path's order of summation.
  FaultSwitch(Device& healthy, bool withhold_order);

  void heal();
  void use(Device& faulty);  ///< outlives the switch's next change
  void corrupt(const CorruptionKind& kind, const Damage& damage);

  const DeviceInfo& info() const override { return healthy_.info(); }
  const std::vector<Implementation>& implementations() const override { return implementations_; }
  Support supports(const Implementation& implementation) const override {
    return healthy_.supports(implementation);
  }
  Support supports(const Implementation& implementation, const OpCall& call,
                   const Program& program) const override {
    return healthy_.supports(implementation, call, program);
  }
  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override;

 private:
  Device& healthy_;
  std::vector<Implementation> implementations_;
  Device* faulty_ = nullptr;
  const CorruptionKind* kind_ = nullptr;
  Damage damage_;
};

}  // namespace parity::faults
