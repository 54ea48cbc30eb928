#pragma once
#include <functional>

#include "harness/ladder/record.hpp"

namespace parity::cli {

/// What `run` returns. An exception out of it (no memory left, say) ends one case and not the whole run: the
/// record is then `blank` with the verdict crash and what was thrown.
Record guarded_run(const std::function<Record()>& run, Record blank);

}  // namespace parity::cli
