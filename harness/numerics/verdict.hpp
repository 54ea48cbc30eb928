#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace parity {

enum class Verdict : std::uint8_t {
  pass,
  fail,
  suspect,      ///< outside the expected spread, inside the hard bound, not explained by replay; never a pass
  drift,        ///< in contract, off its baseline
  unsupported,  ///< the device or path cannot take it, with the reason
  untrusted,    ///< the inputs could not prove anything
  crash,
  timeout,
};
std::string_view name_of(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);
/// Whether something is wrong with the kernel, the device or the harness: fail, suspect, drift, crash,
/// timeout.
bool is_failure(Verdict verdict);
/// The graver of two: crash, timeout, fail, suspect, drift, untrusted, unsupported, pass.
Verdict worse(Verdict a, Verdict b);

}  // namespace parity
