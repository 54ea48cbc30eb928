#pragma once
#include <string>
#include <vector>

#include "harness/ladder/replay.hpp"

namespace parity {

/// What a reference says of itself at one call, asked before a device is blamed by it.
struct ReferenceCheck {
  std::vector<std::string> made;  ///< the checks that could be made here
  std::string contradiction;      ///< what two of its evaluations disagree on, with numbers; empty: nothing
};

/// Evaluates the reference of `call` in ways that do not depend on each other, on the call's own inputs:
/// - exact against tracked, both in fp64, and against the bound that the device is judged by; the path's
///   emulated arithmetic against that bound;
/// - with the inputs permuted along every symmetry the op declares (terms of a sum, rows, heads): the same
///   mathematics, other places;
/// - for optimizers, which have neither many symmetries nor a gradient rule, single elements against a
/// formula
///   that was written apart from the references (closed_form.hpp);
/// - the op against its gradient rule: <J v, w> by central differences and <v, J^T w>, beside the inputs, so
///   that no element stands on a kink.
/// Tolerances are the tracked bounds of fp64; central differences have 1e-6 of the terms' magnitudes besides,
/// a thousand times what a step of 2^-17 leaves of a smooth function, and count only where a smaller step
/// does not bring them nearer. A mistake that is the same in all of these is not seen. `call.got` is read for
/// its dtype and shape alone. A call of more than `most_operations` multiply-adds is checked on a sample of
/// its rows and columns, or not at all where it has no independent ones.
ReferenceCheck check_reference(const OpTable& ops, const CallResult& call,
                               const Implementation& implementation, double multiply_adds,
                               double most_operations = 1e8);

/// The adjoint test of it: a contradiction, or empty. `made`: whether it could be made (a gradient rule,
/// finite numbers).
std::string gradient_contradiction(const OpTable& ops, const CallResult& call, const ArithmeticModel& fp64,
                                   bool& made);

}  // namespace parity
