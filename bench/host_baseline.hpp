#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "harness/ladder/case.hpp"
#include "harness/ladder/program.hpp"

namespace parity {

/// What a program without a device would run instead of a case: the same mathematics in fp32 by Eigen, on the
/// threads that OpenMP has. For times only; nothing is judged by it.
class HostBaseline {
 public:
  virtual ~HostBaseline() = default;
  virtual void run() = 0;
  /// The last run's result, row-major.
  virtual std::span<const float> result() const = 0;
};

/// "fp32, Eigen 3.4.0".
std::string host_baseline_text();

/// The threads a baseline runs on: those OpenMP would take now, 1 without OpenMP; and how many it is to take.
int host_threads();
void set_host_threads(int threads);

/// Of `gemm` (neither batched nor scaled) and `gru_cell` (linear before reset); of any other case an error of
/// kind unsupported. `inputs`: every input of the case's program, of any floating-point format.
Result<std::unique_ptr<HostBaseline>> make_host_baseline(const Case& c, const Program& program,
                                                         const std::map<TensorId, Tensor>& inputs);

}  // namespace parity
