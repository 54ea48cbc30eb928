#include "harness/faults/fault_switch.hpp"

namespace parity::faults {

FaultSwitch::FaultSwitch(Device& healthy, bool withhold_order)
    : healthy_(healthy), implementations_(healthy.implementations()) {
  if (!withhold_order) return;
  for (Implementation& implementation : implementations_) {
    implementation.knowledge = OrderKnowledge::unknown;
    implementation.replays.clear();
    implementation.contract.accumulation.reset();
  }
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
  if (kind_ != nullptr) return load_corrupted(healthy_, program, paths, *kind_, damage_);
  return (faulty_ != nullptr ? *faulty_ : healthy_).load(program, paths);
}

}  // namespace parity::faults
