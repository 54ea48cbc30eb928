#include "references/attention_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "references/formulas.hpp"

namespace parity::attention {

Layout layout_of(const Attributes& attributes, const Shape& q) {
  Layout layout;
  layout.seq = attributes.integer("seq");
  layout.heads = attributes.integer("heads");
  layout.kv_heads = attributes.integer("kv_heads");
  layout.group = layout.heads / layout.kv_heads;
  layout.dim = q[1] / layout.heads;
  layout.batch = q[0] / layout.seq;
  layout.causal = attributes.integer("causal") != 0;
  layout.scale = fp32_number(attributes.real("scale"));
  return layout;
}

Result<void> check_ports(const Attributes& attributes, const Shape& q, const Shape& k, const Shape& v,
                         const std::optional<Shape>& valid) {
  const auto size = matrix_size("Q", q);
  if (!size) return tl::unexpected(size.error());
  const Index heads = attributes.integer("heads"), kv_heads = attributes.integer("kv_heads");
  const Index seq = attributes.integer("seq");
  if (heads % kv_heads != 0)
    return bad_input(fmt::format("heads = {} is not a multiple of kv_heads = {}", heads, kv_heads));
  if (size->cols == 0 || size->cols % heads != 0)
    return bad_input(
        fmt::format("Q has {} columns; they must be a multiple of heads = {}", size->cols, heads));
  if (size->rows % seq != 0)
    return bad_input(fmt::format("Q has {} rows; they must be a multiple of seq = {}", size->rows, seq));
  const Shape wanted{size->rows, size->cols / heads * kv_heads};
  if (auto ok = expect_shape("K", k, wanted); !ok) return ok;
  if (auto ok = expect_shape("V", v, wanted); !ok) return ok;
  if (valid) return expect_shape("valid", *valid, {size->rows});
  return {};
}

std::vector<QueryBlock> query_blocks(const Layout& layout) {
  if (!layout.causal) return {{0, layout.seq, layout.seq}};
  std::vector<QueryBlock> blocks;
  for (Index t = 0; t < layout.seq; ++t) blocks.push_back({t, 1, t + 1});
  return blocks;
}

std::vector<Chunk> chunks(const Layout& layout) {
  constexpr Index most_elements = Index{1} << 22;
  const Index entry = std::max<Index>(layout.heads * layout.seq * layout.seq, 1);
  const Index step = std::clamp<Index>(most_elements / entry, 1, std::max<Index>(layout.batch, 1));
  std::vector<Chunk> out;
  for (Index b = 0; b < layout.batch; b += step) out.push_back({b, std::min(b + step, layout.batch)});
  return out;
}

std::vector<Index> query_rows(const Layout& layout, Chunk chunk, Index first, Index count) {
  std::vector<Index> rows;
  for_each_matrix(layout, chunk, [&](Index b, Index kv) {
    for (Index g = 0; g < layout.group; ++g)
      for (Index t = first; t < first + count; ++t)
        rows.push_back(layout.row_of(b, t) * layout.heads + kv * layout.group + g);
  });
  return rows;
}

std::vector<Index> key_rows(const Layout& layout, Chunk chunk, Index first, Index count) {
  std::vector<Index> rows;
  for_each_matrix(layout, chunk, [&](Index b, Index kv) {
    for (Index j = first; j < first + count; ++j) rows.push_back(layout.row_of(b, j) * layout.kv_heads + kv);
  });
  return rows;
}

Result<Operands> load_operands(Arithmetic& arithmetic, const Attributes& attributes, const Tensor& q,
                               const Tensor& k, const Tensor& v, const Tensor* valid, const Tensor* d_o) {
  Operands in;
  in.layout = layout_of(attributes, q.shape());
  const Layout& layout = in.layout;
  const auto by_head = [&](const Tensor& tensor, Index heads) {
    return reshape(arithmetic.load(tensor), 1, tensor.shape()[0] * heads, layout.dim);
  };
  const Value zeros = filled(1, 1, layout.dim, 0);
  in.q = by_head(q, layout.heads);
  in.k = concat_rows({by_head(k, layout.kv_heads), zeros});
  in.v = concat_rows({by_head(v, layout.kv_heads), zeros});
  if (d_o != nullptr) in.d_o = by_head(*d_o, layout.heads);
  if (valid != nullptr) {
    if (valid->dtype() != DType::i32)
      return bad_input(fmt::format("valid has dtype {}; it must be i32", name_of(valid->dtype())));
    for (Index i = 0; i < valid->elements(); ++i) in.valid.push_back(valid->value(i) != 0);
  }
  return in;
}

Value take_keys(const Operands& in, const Value& x, Chunk chunk, Index count) {
  const Layout& layout = in.layout;
  std::vector<Index> rows = key_rows(layout, chunk, 0, count);
  std::size_t at = 0;
  for_each_matrix(layout, chunk, [&](Index b, Index) {
    for (Index j = 0; j < count; ++j, ++at)
      if (!in.takes_part(b, j)) rows[at] = x.rows - 1;
  });
  return reshape(take_rows(x, rows), matrices(layout, chunk), count, layout.dim);
}

Value take_queries(const Layout& layout, const Value& x, Chunk chunk, Index first, Index count) {
  return reshape(take_rows(x, query_rows(layout, chunk, first, count)), matrices(layout, chunk),
                 layout.group * count, layout.dim);
}

}  // namespace parity::attention
