#include "references/op_table.hpp"

namespace parity {

OpTable make_op_table() {
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_gemm_op());
  ops.push_back(make_linear_op());
  return OpTable(std::move(ops));
}

}  // namespace parity
