#pragma once
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity {

/// Passes everything on to another device, which must outlive it, but states its own implementations: the
/// base of devices of which less, or more, is known.
class RestatedDevice : public Device {
 public:
  explicit RestatedDevice(Device& device) : device_(device), implementations_(device.implementations()) {}

  const DeviceInfo& info() const override { return device_.info(); }
  const std::vector<Implementation>& implementations() const override { return implementations_; }
  Support supports(const Implementation& i) const override { return device_.supports(i); }
  Support supports(const Implementation& i, const OpCall& call, const Program& program) const override {
    return device_.supports(i, call, program);
  }
  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override {
    return device_.load(program, paths);
  }

 protected:
  Device& device() { return device_; }
  std::vector<Implementation>& stated() { return implementations_; }

 private:
  Device& device_;
  std::vector<Implementation> implementations_;
};

/// The path as if nothing were known of its order: judged by bounds and aggregates alone, as a vendor's
/// kernel. An adder that truncates may still be one.
inline void withhold_order(Implementation& implementation) {
  implementation.knowledge = OrderKnowledge::unknown;
  implementation.replays.clear();
  auto& known = implementation.contract.accumulation;
  if (known && known->multiply_add == MultiplyAdd::multi_term &&
      known->adder.rounding == Rounding::toward_zero)
    implementation.contract.may_truncate = true;
  known.reset();
}

/// A device whose paths say nothing of their order.
class OrderWithheld final : public RestatedDevice {
 public:
  explicit OrderWithheld(Device& device) : RestatedDevice(device) {
    for (Implementation& implementation : stated()) withhold_order(implementation);
  }
};

}  // namespace parity
