#include "harness/ladder/stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/stages/ladder_stages.hpp"
#include "harness/ladder/stages/matrix_stage.hpp"
#include "harness/ladder/stages/training_step_stage.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

Result<void> Stage::check_integers(const Case& c) const {
  return bad_input(fmt::format("in={}: rung '{}' computes in floating point; integers are for gemm",
                               name_of(c.input), name()));
}

Result<std::map<TensorId, Tensor>> first_inputs(const Stage& stage, const Case& c, const Program& program,
                                                const std::map<std::string, Tensor>& own) {
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.is_view() || (spec.role != TensorSpec::Role::input && spec.role != TensorSpec::Role::state))
      continue;
    const auto id = static_cast<TensorId>(i);
    const auto given = own.find(spec.name);
    auto tensor = given == own.end() ? stage.fill(c, program, id) : convert(given->second, spec.dtype);
    if (!tensor) return tl::unexpected(tensor.error());
    if (tensor->shape() != spec.shape)
      return bad_input(fmt::format("input '{}' has shape {}, the case needs {}", spec.name,
                                   to_string(tensor->shape()), to_string(spec.shape)));
    inputs.emplace(id, *std::move(tensor));
  }
  if (stage.steps(c) > 1) {
    auto first = stage.step_inputs(c, program, 0);
    if (!first) return tl::unexpected(first.error());
    for (auto& [id, tensor] : *first) inputs.insert_or_assign(id, std::move(tensor));
  }
  return inputs;
}

bool bits_are_contract(const Stage& stage, const Case& c, const Implementation& implementation) {
  const bool keeps_inputs = format_of(implementation.input).precision <= implementation.multiply.precision;
  return stage.exact(c) && (keeps_inputs || c.fill == Fill::integer);
}

StageTable make_stage_table(const OpTable& ops) {
  std::vector<std::unique_ptr<const Stage>> stages;
  stages.push_back(make_gemm_stage(ops));
  stages.push_back(make_linear_stage(ops));
  for (auto* make : {make_recurrent_stages, make_attention_stages, make_loss_stages, make_gradient_stages,
                     make_optimizer_stages})
    std::ranges::move(make(ops), std::back_inserter(stages));
  stages.push_back(make_stage(ops, training_step_stage()));
  return StageTable(std::move(stages));
}

}  // namespace parity
