#pragma once
#include <string>
#include <vector>

#include "harness/tensor/tensor.hpp"
#include "harness/tensor/tensor_scan.hpp"

namespace parity {

/// What looks wrong about a tensor without knowing what it should be: poison, all zero, a constant 16x16 tile
/// among others, rows that repeat their neighbour. Each a part of a sentence; none is proof.
std::vector<std::string> suspicious_patterns(const Tensor& tensor);

/// Remembers tensors by their bits and says which earlier one a tensor is a copy of.
class CopyFinder {
 public:
  /// The name of an earlier tensor of the same type, shape and bits; empty: none, or all of it is one number.
  std::string copy_of(const std::string& name, const Tensor& tensor, const TensorScan& scan);

 private:
  struct Seen {
    std::string name;
    DType dtype;
    Shape shape;
    TensorScan scan;
    std::uint64_t content = 0;
  };
  std::vector<Seen> seen_;
};

}  // namespace parity
