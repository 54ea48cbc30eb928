#pragma once
// Faulty kernels of any op, planted on a host device that is healthy but for them.
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::planted {

using Index = std::int64_t;
using Values = Result<std::vector<Value>>;

/// The mistaken computation of a call: as Op::evaluate, in the device's arithmetic. `op` is the healthy one,
/// for faults that are its mathematics with other settings or inputs. An output left without elements is not
/// written.
using Evaluation = std::function<Values(const Op& op, Arithmetic& device, const Attributes& attributes,
                                        const PortTensors& inputs)>;

/// What the harness was told of the order of summation.
enum class Order : std::uint8_t {
  confirmed,  ///< declared, and seen healthy on the device before: bits are the contract where they are known
  broken,     ///< declared, but the fault was there from the start: no declared arithmetic was confirmed
  withheld,   ///< nothing: bounds and aggregates
};
std::string name_of(Order order);

/// Makes the kernel afresh: what it keeps from run to run begins empty.
using MakeKernel = std::function<HostKernel(const OpTable& ops, const ArithmeticModel& model)>;
MakeKernel evaluated(Evaluation evaluation);

/// The mistaken kernel for calls whose first output's name ends so; healthy for others: an op that many rungs
/// use is at fault in one place only.
MakeKernel only_for(const std::string& output, MakeKernel mistaken);

struct Fault {
  std::string name;
  std::string op;  ///< whose kernels are replaced
  MakeKernel kernel;
  std::string case_text;  ///< in the suite; of the lowest rung that shows it there
  std::string where;      ///< the tensor that is named
  /// What is said of that tensor, a part of the sentence, by Order. Empty: nothing, the case passes.
  std::string confirmed, broken = confirmed, withheld = confirmed;
  std::string suite = "smoke";  ///< a file of cases/

  const std::string& finding(Order order) const;
};

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

// Building blocks of faults.

/// The device's arithmetic with some of its operations replaced.
struct Replacements {
  std::function<Value(Arithmetic& device, const Value& x)> row_max = {};
  std::function<Value(Arithmetic& device, const Value& x, const Value* y)> row_dot = {};
  std::function<Value(Arithmetic& device, const Value& a, bool ta, const Value& b, bool tb)> matmul = {};
  std::function<Value(Arithmetic& device, Function function, const Value& x)> apply = {};
};
/// The op's own reference over that arithmetic.
Evaluation with(Replacements replacements);
/// Sums in sequence, the accumulator rounded to `format` after each multiply-add.
Replacements sums_in(DType format);
/// The op with another value of an attribute.
Evaluation with_attribute(const std::string& name, AttributeValue value);
/// The op with an input changed first: `change(inputs, tensor)`.
Evaluation with_input(std::size_t port, std::function<void(const PortTensors&, Tensor&)> change);
/// The op, then its results changed.
Evaluation with_results(std::function<void(const PortTensors&, std::vector<Value>&)> change);

}  // namespace parity::planted
