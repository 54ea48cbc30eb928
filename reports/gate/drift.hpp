#pragma once
#include <string>
#include <vector>

#include "reports/gate/baseline.hpp"

namespace parity {

/// One statistic of a result that moved.
struct MovedStatistic {
  std::string statistic;  ///< "errors", "mean error"
  std::string text;       ///< from what to what, and why that is no chance
  double chance = 1;      ///< of a move this large if nothing had changed
};

/// When a move counts: improbable, and large enough to care for.
struct DriftLimits {
  double chance = 1e-9;    ///< of one result; a gate divides its own by the number of results
  double smallest = 1.1;   ///< a typical error that grew or shrank by less is no drift, nor is a mean that
                           ///< moved by less than a tenth of it
  bool bits_vary = false;  ///< from run to run: a few elements may be exact by luck
};

/// Whether the errors of one result moved between two measurements with the same inputs. The two are taken
/// for samples of `elements` independent errors each; what is common to both, the inputs, makes them differ
/// less, not more. Tested are
/// - the histograms of |err| in ULP: G = 2 sum over bins and sides of O ln(O / E), chi-square with bins - 1
///   degrees of freedom (Wilks 1938), bins joined until each holds ten of both, its tail by Wilson and
///   Hilferty (1931); the size of the move is that of the typical (rms) error;
/// - the mean error: normal with standard error sqrt(rms0^2 / n0 + rms1^2 / n1).
/// A result that was exact and no longer is, or the other way, has moved for certain.
std::vector<MovedStatistic> find_drift(const BaselineOutput& before, const BaselineOutput& now,
                                       const DriftLimits& limits);

/// How times of a path are compared: single cases are often too short for a clock. The upper median of at
/// least one.
double median_of(std::vector<double> values);

}  // namespace parity
