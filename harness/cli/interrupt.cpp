#include "harness/cli/interrupt.hpp"

#include <csignal>

namespace parity::cli {
namespace {

// The one thing a signal handler may touch.
volatile std::sig_atomic_t noted = 0;

extern "C" void note_signal(int signal) {
  noted = signal;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  // After the first signal the default action is back.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int interrupted() {
  return noted;
}

}  // namespace parity::cli
