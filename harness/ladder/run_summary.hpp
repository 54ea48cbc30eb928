#pragma once
#include <map>
#include <vector>

#include "harness/ladder/assignment.hpp"
#include "harness/ladder/program_reference.hpp"
#include "harness/ladder/record.hpp"

namespace parity {

/// Appends judged outputs to a record. A program of many calls keeps, for each op, path and port, the worst
/// output and how many it stands for; outputs that do not pass are kept themselves, the first ones in program
/// order.
void fold(std::vector<OutputRecord> outputs, std::vector<OutputRecord>& into);

/// Appends this step's results of one element, the device's and the exact reference's.
void extend_trajectories(const Program& program, const std::map<TensorId, Tensor>& results,
                         const ProgramEvaluation& exact, std::vector<Trajectory>& trajectories);

/// Times of a program's calls over several runs: the least of each.
class CallTimes {
 public:
  CallTimes(const Program& program, const Assignment& assignment)
      : program_(program), assignment_(assignment) {}
  void add_device(const std::vector<double>& seconds) { keep_least(seconds, device_); }
  void add_reference(const std::vector<double>& seconds) { keep_least(seconds, reference_); }
  /// By op and path; empty for a program of one call or when the device measures nothing.
  std::vector<CallTime> summary() const;

 private:
  static void keep_least(const std::vector<double>& seconds, std::vector<double>& least);
  const Program& program_;
  const Assignment& assignment_;
  std::vector<double> device_, reference_;
};

}  // namespace parity
