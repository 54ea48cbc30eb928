#include "harness/ladder/stage.hpp"

#include "harness/ladder/stages/matrix_stage.hpp"
#include "harness/ladder/stages/training_step_stage.hpp"

namespace parity {

StageTable make_stage_table(const OpTable& ops) {
  std::vector<std::unique_ptr<const Stage>> stages;
  stages.push_back(make_gemm_stage());
  stages.push_back(make_linear_stage());
  stages.push_back(make_stage(ops, training_step_stage()));
  return StageTable(std::move(stages));
}

}  // namespace parity
