#pragma once
// Faulty kernels of any op, for a host device that is healthy but for them.
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"

namespace parity::planted {

using Index = std::int64_t;
using Values = Result<std::vector<Value>>;

/// The mistaken computation of a call: as Op::evaluate, in the device's arithmetic. `op` is the healthy one,
/// for faults that are its mathematics with other settings or inputs. An output left without elements is not
/// written.
using Evaluation = std::function<Values(const Op& op, Arithmetic& device, const Attributes& attributes,
                                        const PortTensors& inputs)>;

/// Makes the kernel afresh: what it keeps from run to run begins empty.
using MakeKernel = std::function<HostKernel(const OpTable& ops, const ArithmeticModel& model)>;
MakeKernel evaluated(Evaluation evaluation);

/// The mistaken kernel for calls whose first output's name ends so; healthy for others: an op that many rungs
/// use is at fault in one place only.
MakeKernel only_for(const std::string& output, MakeKernel mistaken);

struct Fault {
  std::string name;  ///< the catalogue's; two entries may show one fault on two cases
  std::string op;    ///< whose kernels are replaced
  MakeKernel kernel;
  std::string case_text;  ///< in the suite; of the lowest rung that shows it there
  std::string where;      ///< the tensor that is named
  /// What is said of that tensor, a part of the sentence, by what is known of the order. Empty: nothing, the
  /// case passes.
  std::string confirmed, broken = confirmed, withheld = confirmed;
  std::string suite = "smoke";  ///< a file of cases/
};

// The faults, by family; the names are those of the catalogue (cases/faults/).
std::vector<Fault> attention_faults();
std::vector<Fault> loss_faults();
std::vector<Fault> norm_faults();
std::vector<Fault> optimizer_faults();
std::vector<Fault> recurrent_faults();
std::vector<Fault> product_faults();
/// All of them.
std::vector<Fault> all_faults();

/// The CPU device with the kernels of one fault in place of the healthy ones, on the paths that add in
/// sequence; null: no fault has that name.
std::unique_ptr<Device> make_faulty_cpu_device(const OpTable& ops, const std::string& fault);

// Kernels that are right, written out as somebody would: what some of the faults change.
MakeKernel plain_attention();
MakeKernel plain_adamw();
/// Sums from the last term to the first.
HostKernel other_order(const OpTable& ops, ArithmeticModel model);

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
