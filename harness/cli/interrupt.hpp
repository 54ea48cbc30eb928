#pragma once

namespace parity::cli {

/// From now on SIGINT and SIGTERM are noted instead of ending the process at once, so that the running case
/// is finished and the summaries are written; a second signal ends the process.
void catch_interrupts();
/// The signal that was noted, or 0.
int interrupted();

}  // namespace parity::cli
