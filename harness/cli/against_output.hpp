#pragma once
#include <string>

#include "harness/bisect/against.hpp"

namespace parity::cli {

/// What was compared.
struct Compared {
  std::string case_text;
  const DeviceInfo& first;
  std::string first_path;
  const DeviceInfo& second;
  std::string second_path;
};

/// For people: noise or a divergence, where the bits part, how far, who is wrong, and what it cost.
std::string against_text(const AgainstReport& report, const Compared& what);
/// The same as one JSON object.
std::string against_json(const AgainstReport& report, const Compared& what);

}  // namespace parity::cli
