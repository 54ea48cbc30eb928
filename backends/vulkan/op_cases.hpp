#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/op.hpp"

namespace parity::vulkan {

/// What a test case puts into an input.
enum class Content : std::uint8_t {
  normal,    ///< N(0,1)
  positive,  ///< |N(0,1)|
  gate,      ///< between 0 and 1
  squeezed,  ///< between -1 and 1
  index,     ///< i32 in [0, limit), with repeats
  mask,      ///< i32, zero or not; every seventh is zero, and the first `limit`
  absent,    ///< an optional port left empty
};

struct CaseInput {
  Shape shape;
  Content content = Content::normal;
  std::int64_t limit = 0;
};

/// One call of one op on small data: sizes off every multiple, rows with pads.
struct OpCase {
  std::string op;
  Attributes attributes;
  std::vector<CaseInput> inputs;
  DType input = DType::f32, store = DType::f32;  ///< of `cast`
};
/// At least one case for every op but gemm and linear.
std::vector<OpCase> op_cases();
std::string to_string(const OpCase& c);

/// The program of a case, its outputs as the reference infers them.
Result<Program> program_of(const OpCase& c, const OpTable& ops);

/// Writes every input of the case; the tensors by id.
Result<std::map<TensorId, Tensor>> write_inputs(Session& session, const OpCase& c, const Program& program);

/// What went wrong, empty if nothing did: runs the case twice on the path; bits must repeat (but for
/// atomics), pads, guards and inputs stay, every output must pass the judge against the reference with the
/// path's own contract, and where the arithmetic is known to the bit one of the path's replays must give
/// every bit.
std::string run_case(Device& device, const Implementation& implementation, const OpCase& c,
                     const OpTable& ops);

}  // namespace parity::vulkan
