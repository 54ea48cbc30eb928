#pragma once
// The stages of rungs 2 to 9 as data, one file a group; stage.cpp lists them.
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/composed_stage.hpp"

namespace parity {

using Stages = std::vector<std::unique_ptr<const Stage>>;

Stages make_recurrent_stages(const OpTable& ops);  ///< rungs 2 to 5
Stages make_attention_stages(const OpTable& ops);  ///< rung 6
Stages make_loss_stages(const OpTable& ops);       ///< rung 7
Stages make_gradient_stages(const OpTable& ops);   ///< rung 8
Stages make_optimizer_stages(const OpTable& ops);  ///< rung 9

/// For a stage without products: its one format is the real dtype, in, acc and out alike. Otherwise an error
/// that says so, kept by the composer, and false.
bool takes_real_only(Composer& composer, const Case& c);

/// Values of the case's fill as the left factor of a product over the last of two axes.
Content factor_content();

/// A size that calls are repeated by (layers, steps): limited, for each costs calls of the program.
Parameter count_parameter(std::string_view name, std::int64_t most, std::string_view help);

}  // namespace parity
