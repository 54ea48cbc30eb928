#pragma once
#include "harness/faults/corruption.hpp"
#include "harness/ladder/restated_device.hpp"

namespace parity::faults {

/// A healthy device that can be made faulty between two cases: its programs are then loaded on another device
/// (the same one with faulty kernels), or their results changed. What it declares stays as it is.
class FaultSwitch final : public RestatedDevice {
 public:
  /// `withhold`: nothing is told of any path's order of summation.
  FaultSwitch(Device& healthy, bool withhold);

  void heal();
  void use(Device& faulty);  ///< outlives the switch's next change
  void corrupt(const CorruptionKind& kind, const Damage& damage);

  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override;

 private:
  Device* faulty_ = nullptr;
  const CorruptionKind* kind_ = nullptr;
  Damage damage_;
};

}  // namespace parity::faults
