// trace_scan: what bisecting looks at, made on the device, so that a tensor need not be downloaded.
#include <fmt/format.h>

#include "harness/tensor/tensor_scan.hpp"
#include "references/defined_op.hpp"
#include "references/op_table.hpp"

namespace parity {

std::vector<std::unique_ptr<const Op>> make_trace_ops() {
  OpDefinition op;
  op.name = "trace_scan";
  op.summary = "S = {NaNs, infinities, first of these, unwritten, bits of max |x|, hash} of X";
  op.inputs = {{"X"}};
  op.outputs = {{"S"}};
  op.infer = [](const Attributes&, PortShapes ports) -> Result<std::vector<Shape>> {
    if (ports[0]->empty() || ports[0]->size() > 3)
      return bad_input(fmt::format("X has shape {}; give a tensor of rank 1 to 3", to_string(*ports[0])));
    return std::vector<Shape>{{scan_words}};
  };
  op.evaluate = [](Arithmetic&, const Attributes&, const PortTensors& in) -> Result<std::vector<Value>> {
    // Bits, not arithmetic: the words are exact in any of them.
    Value words;
    words.rows = 1;
    words.cols = scan_words;
    for (const std::int32_t word : to_words(scan_tensor(*in[0]))) words.v.push_back(word);
    return std::vector{std::move(words)};
  };
  op.flops_per_element = [](const OpCall&, const Program&) { return 0.0; };
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_op(std::move(op)));
  return ops;
}

}  // namespace parity
