#pragma once
#include <cstdint>
#include <vector>

#include "harness/numerics/value_shape.hpp"
#include "references/defined_op.hpp"

namespace parity::attention {

// Which rows of an attention's inputs meet which. Every matrix of a batch belongs to one batch entry and one
// kv head; the queries of its group of heads stand below each other.

using Index = std::int64_t;

struct Layout {
  Index batch = 0, seq = 0, heads = 0, kv_heads = 0, group = 0, dim = 0;
  bool causal = true;
  double scale = 1;

  Index row_of(Index b, Index t) const { return b * seq + t; }
};
Layout layout_of(const Attributes& attributes, const Shape& q);

/// Error unless the ports fit each other and the attributes.
Result<void> check_ports(const Attributes& attributes, const Shape& q, const Shape& k, const Shape& v,
                         const std::optional<Shape>& valid);

/// Queries first .. first + count - 1 of every batch entry, which all use keys 0 .. keys - 1: one each when
/// causal, else all of them.
struct QueryBlock {
  Index first = 0, count = 0, keys = 0;
};
std::vector<QueryBlock> query_blocks(const Layout& layout);

/// Batch entries begin .. end - 1, which are worked on together.
struct Chunk {
  Index begin = 0, end = 0;
};
/// So many that the probabilities of a chunk, which the backward pass keeps, stay below 2^22 elements.
std::vector<Chunk> chunks(const Layout& layout);

/// Calls body(b, kv head) in the order of a chunk's matrices.
template <class Body>
void for_each_matrix(const Layout& layout, Chunk chunk, const Body& body) {
  for (Index b = chunk.begin; b < chunk.end; ++b)
    for (Index kv = 0; kv < layout.kv_heads; ++kv) body(b, kv);
}
inline Index matrices(const Layout& layout, Chunk chunk) {
  return (chunk.end - chunk.begin) * layout.kv_heads;
}

/// Rows of queries first .. first + count - 1, by matrix, then head of the group, then time.
std::vector<Index> query_rows(const Layout& layout, Chunk chunk, Index first, Index count);
/// Rows of keys first .. first + count - 1, by matrix, then time.
std::vector<Index> key_rows(const Layout& layout, Chunk chunk, Index first, Index count);

/// The inputs, one row a token and head; below K and V a row of zeros, which stands for a masked key.
struct Operands {
  Layout layout;
  Value q, k, v, d_o;
  std::vector<bool> valid;  ///< by row; empty: all

  bool takes_part(Index b, Index t) const {
    return valid.empty() || valid[static_cast<std::size_t>(layout.row_of(b, t))];
  }
};
/// `valid` and `d_o` may be null. Error when `valid` is not i32.
Result<Operands> load_operands(Arithmetic& arithmetic, const Attributes& attributes, const Tensor& q,
                               const Tensor& k, const Tensor& v, const Tensor* valid, const Tensor* d_o);

/// Keys 0 .. count - 1 of `x` (in.k or in.v): [matrices, count, dim], zeros where a key is masked.
Value take_keys(const Operands& in, const Value& x, Chunk chunk, Index count);
/// Queries first .. first + count - 1 of `x` (in.q or in.d_o): [matrices, group * count, dim].
Value take_queries(const Layout& layout, const Value& x, Chunk chunk, Index first, Index count);

/// One bool an element of [matrices, rows, cols]: takes_part(b, row, col).
template <class Body>
std::vector<bool> mask_of(const Layout& layout, Chunk chunk, Index rows, Index cols, const Body& takes_part) {
  std::vector<bool> mask;
  for_each_matrix(layout, chunk, [&](Index b, Index) {
    for (Index row = 0; row < rows; ++row)
      for (Index col = 0; col < cols; ++col) mask.push_back(takes_part(b, row, col));
  });
  return mask;
}

}  // namespace parity::attention
