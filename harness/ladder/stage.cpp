#include "harness/ladder/stage.hpp"

#include <algorithm>
#include <iterator>

#include "harness/ladder/stages/ladder_stages.hpp"
#include "harness/ladder/stages/matrix_stage.hpp"
#include "harness/ladder/stages/training_step_stage.hpp"

namespace parity {

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
