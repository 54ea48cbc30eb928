#pragma once
#include <string>

#include "harness/base/result.hpp"

namespace parity::cli {

/// What the command's exit status means.
enum ExitCode : int {
  passed = 0,
  contract_failed = 1,  ///< a contract or a gate failed; also suspect, crash and timeout
  bad_usage = 2,        ///< a wrong argument or input file
  no_device = 3,        ///< the device asked for is not here
  nothing_judged = 4,   ///< no case matched, or all were unsupported, untrusted or without an element
  harness_failed = 5,   ///< the harness itself failed
};

inline int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
      return bad_usage;
    case ErrorKind::missing_device:
      return no_device;
    case ErrorKind::unsupported:
      return nothing_judged;
    case ErrorKind::device_failed:
    case ErrorKind::timed_out:
      return contract_failed;
    case ErrorKind::internal:
      return harness_failed;
  }
  return harness_failed;
}

/// `git bisect run` takes 125 for a commit that cannot be judged; 1 and what interrupts stay.
inline int for_git(int code) {
  return code > contract_failed && code <= harness_failed ? 125 : code;
}

}  // namespace parity::cli
