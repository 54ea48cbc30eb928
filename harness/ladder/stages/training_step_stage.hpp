#pragma once
#include "harness/ladder/composed_stage.hpp"

namespace parity {

/// Rung 10: steps of training a small language model on training_text().
StageDefinition training_step_stage();

}  // namespace parity
