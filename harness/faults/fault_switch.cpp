#include "harness/faults/fault_switch.hpp"

namespace parity::faults {

FaultSwitch::FaultSwitch(Device& healthy, bool withhold) : RestatedDevice(healthy) {
  if (!withhold) return;
  for (Implementation& implementation : stated()) withhold_order(implementation);
}

void FaultSwitch::heal() {
  faulty_ = nullptr;
  kind_ = nullptr;
}

void FaultSwitch::use(Device& faulty) {
  heal();
  faulty_ = &faulty;
}

void FaultSwitch::corrupt(const CorruptionKind& kind, const Damage& damage) {
  heal();
  kind_ = &kind;
  damage_ = damage;
}

Result<std::unique_ptr<Session>> FaultSwitch::load(const Program& program,
                                                   const std::vector<std::string>& paths) {
  if (kind_ != nullptr) return load_corrupted(device(), program, paths, *kind_, damage_);
  return (faulty_ != nullptr ? *faulty_ : device()).load(program, paths);
}

}  // namespace parity::faults
