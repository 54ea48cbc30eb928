#pragma once
#include <string>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"

namespace parity::cli {

/// What `parity bisect LIST` was asked.
struct ListRequest {
  std::string file, device, out;
  double timeout_seconds = 60;
  bool validate = false, catalogue = false;
};

/// Runs a list of what goes wrong on purpose and prints what was said of each. Returns the exit code: 1 where
/// something was said wrongly without a reason in the list, 4 where nothing could be run.
Result<int> bisect_list(const Context& context, const ListRequest& request);

/// The one device that fits; `option` is named in the error.
Result<Device*> one_device(const BackendSet& set, const std::string& choice, const char* option);

}  // namespace parity::cli
