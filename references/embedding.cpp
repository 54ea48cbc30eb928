// embedding and embedding_backward (docs/operations.md).
#include <fmt/format.h>

#include <map>

#include "harness/numerics/value_shape.hpp"
#include "references/defined_op.hpp"
#include "references/op_table.hpp"
#include "references/row_collector.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

Result<std::vector<Value>> evaluate_embedding(Arithmetic& arithmetic, const Attributes&,
                                              const PortTensors& inputs) {
  const Value table = arithmetic.load(*inputs[0]);
  const auto ids = indices_of("ids", *inputs[1], table.rows);
  if (!ids) return tl::unexpected(ids.error());
  return std::vector<Value>{take_rows(table, *ids)};
}

Result<std::vector<Value>> evaluate_embedding_backward(Arithmetic& arithmetic, const Attributes& attributes,
                                                       const PortTensors& inputs) {
  const Index vocabulary = attributes.integer("vocabulary");
  const auto ids = indices_of("ids", *inputs[0], vocabulary);
  if (!ids) return tl::unexpected(ids.error());
  const Value dy = arithmetic.load(*inputs[1]);
  std::vector<std::vector<Index>> rows_of(static_cast<std::size_t>(vocabulary));
  for (std::size_t row = 0; row < ids->size(); ++row)
    rows_of[static_cast<std::size_t>((*ids)[row])].push_back(static_cast<Index>(row));
  // Ids that occur equally often are summed together: the rows of an id below each other, one batch an id. No
  // other row takes part, not even times zero.
  std::map<std::size_t, std::vector<Index>> ids_by_count;
  for (std::size_t id = 0; id < rows_of.size(); ++id)
    ids_by_count[rows_of[id].size()].push_back(static_cast<Index>(id));
  RowCollector table;
  for (const auto& [count, members] : ids_by_count) {
    const auto batch = static_cast<Index>(members.size());
    if (count == 0) {
      table.add(filled(1, batch, dy.cols, 0), members);
      continue;
    }
    std::vector<Index> rows;
    for (const Index id : members) {
      const auto& own = rows_of[static_cast<std::size_t>(id)];
      rows.insert(rows.end(), own.begin(), own.end());
    }
    const auto terms = static_cast<Index>(count);
    const Value of_id = reshape(take_rows(dy, rows), batch, terms, dy.cols);
    // A product with 1 rounds nothing: this is the sum over the rows.
    const Value sums = arithmetic.matmul(filled(1, 1, terms, 1), false, of_id, false);
    table.add(reshape(sums, 1, batch, dy.cols), members);
  }
  return std::vector<Value>{table.finish(vocabulary, dy.cols, dy.cols)};
}

Result<void> embedding_gradient(const OpCall& call, GradientBuilder& builder) {
  const TensorId dy = builder.output_gradient(0);
  if (dy == no_tensor || !builder.wants(0)) return {};
  const Index vocabulary = builder.program().spec(call.inputs[0]).shape[0];
  builder.emit({"embedding_backward",
                {{"vocabulary", vocabulary}},
                {call.inputs[1], dy},
                {builder.input_gradient(0)}});
  return {};
}

Result<void> check_ids(const Shape& ids) {
  if (ids.size() == 1) return {};
  return bad_input(fmt::format("ids have shape {}; give a vector", to_string(ids)));
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_embedding_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_op({
      .name = "embedding",
      .summary = "Y = table[ids], a copy",
      .inputs = {{"table"}, {"ids"}},
      .outputs = {{"Y"}},
      .attributes = {},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        const auto table = matrix_size("table", *in[0]);
        if (!table) return tl::unexpected(table.error());
        if (auto ok = check_ids(*in[1]); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{{(*in[1])[0], table->cols}};
      },
      .evaluate = evaluate_embedding,
      .gradient = embedding_gradient,
      .flops_per_element = [](const OpCall&, const Program&) { return 0.0; },
      .reduction_length = {},
  }));
  ops.push_back(make_op({
      .name = "embedding_backward",
      .summary = "dTable[v] = sum of dY over the rows with id v, in row order",
      .inputs = {{"ids"}, {"dY"}},
      .outputs = {{"dTable"}},
      .attributes = {{"vocabulary", Index{1}, true, 1, 0x1p30}},
      .infer = [](const Attributes& attributes, PortShapes in) -> Result<std::vector<Shape>> {
        const auto dy = matrix_size("dY", *in[1]);
        if (!dy) return tl::unexpected(dy.error());
        if (auto ok = check_ids(*in[0]); !ok) return tl::unexpected(ok.error());
        if (auto ok = expect_shape("ids", *in[0], {dy->rows}); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{{attributes.integer("vocabulary"), dy->cols}};
      },
      .evaluate = evaluate_embedding_backward,
      .gradient = {},
      // One addition for each element of dY, whatever the table's size.
      .flops_per_element =
          [](const OpCall& call, const Program& program) {
            return static_cast<double>(program.spec(call.inputs[1]).shape[0]) /
                   static_cast<double>(call.attributes.integer("vocabulary"));
          },
      // All rows may have one id.
      .reduction_length = [](const OpCall& call,
                             const Program& program) { return program.spec(call.inputs[1]).shape[0]; },
      .symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
        return {{Symmetry::Kind::reduction, "rows", {{1, 1}, {0, 0}}, {}, true, 0},
                {Symmetry::Kind::batch, "columns", {{1, 0}}, {{0, 0}}}};
      },
  }));
  return ops;
}

}  // namespace parity
