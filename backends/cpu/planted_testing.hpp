#pragma once
// Runs of one case on a host device with a planted fault.
#include <string>
#include <vector>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::planted {

/// What the harness was told of the order of summation.
enum class Order : std::uint8_t {
  confirmed,  ///< declared, and seen healthy on the device before: bits are the contract where they are known
  broken,     ///< declared, but the fault was there from the start: no declared arithmetic was confirmed
  withheld,   ///< nothing: bounds and aggregates
};
std::string name_of(Order order);

/// What is said of the fault's tensor.
const std::string& finding_of(const Fault& fault, Order order);

/// Ops, stages, suites, and runs of one case on a device with a fault.
class Workbench {
 public:
  Workbench();
  /// Healthy kernels on the paths that add in sequence; those of fault.op are faulty while the runner is.
  Record run_healthy(const Fault& fault, Order order, const Case& c) const;
  Record run_faulty(const Fault& fault, Order order, const Case& c) const;
  /// The cases of a suite, canonical.
  std::vector<Case> suite(const std::string& name) const;
  Case parsed(const std::string& text) const;
  int rung_of(const Case& c) const { return stages_.find(c.stage)->rung(); }
  bool uses(const Case& c, const std::string& op) const;
  const StageTable& stages() const { return stages_; }
  const OpTable& ops() const { return ops_; }

 private:
  Record run(const Fault& fault, Order order, const Case& c, bool faulty) const;
  OpTable ops_;
  StageTable stages_;
};

/// For each fault and order: the case is in its suite and passes on the healthy device; the faulty one gets
/// the expected finding, and no case of a lower rung of that suite shows it.
void expect_caught(const std::vector<Fault>& faults, Order order);

}  // namespace parity::planted
