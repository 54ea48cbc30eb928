#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"

namespace parity {

/// A device whose paths say nothing of their order: judged by bounds and aggregates alone, as a vendor's
/// kernel.
class OrderWithheld final : public Device {
 public:
  explicit OrderWithheld(Device& device) : device_(device), implementations_(device.implementations()) {
    for (Implementation& implementation : implementations_) {
      implementation.knowledge = OrderKnowledge::unknown;
      implementation.replays.clear();
      const auto& known = implementation.contract.accumulation;
      implementation.contract.may_truncate = known && known->multiply_add == MultiplyAdd::multi_term;
      implementation.contract.accumulation.reset();
    }
  }
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

 private:
  Device& device_;
  std::vector<Implementation> implementations_;
};

}  // namespace parity
