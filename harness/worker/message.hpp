#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace parity {

// One message is one line of JSON. What a payload holds is the business of those who send and read it; it is
// JSON without a newline.

/// What a worker says.
struct WorkerMessage {
  enum class Kind {
    ready,    ///< {"ready":PAYLOAD}: it can take cases
    refused,  ///< {"refused":{"kind":K,"message":M}}: it cannot, for an ordinary reason; it ends
    begun,    ///< {"begun":N}: what happens to it from here on happened to this case
    done,     ///< {"done":N,"result":PAYLOAD}
    last,     ///< {"last":N,"result":PAYLOAD}: done, and the worker ends: its device is not to be trusted
  } kind = Kind::ready;
  std::size_t number = 0;  ///< of the case among those of the worker's device
  std::string payload;
  Error error;
};

std::string ready_line(std::string_view payload);
std::string refused_line(const Error& error);
std::string begun_line(std::size_t number);
std::string done_line(std::size_t number, std::string_view payload);
std::string last_line(std::size_t number, std::string_view payload);
/// Empty: the line is no message.
std::optional<WorkerMessage> parse_worker_message(std::string_view line);

/// What a worker is told: {"run":N,"passed":[M,...]}. `passed` are cases before N that passed somewhere else
/// since the last order.
struct WorkerOrder {
  std::size_t run = 0;
  std::vector<std::size_t> passed;
};
std::string order_line(const WorkerOrder& order);
std::optional<WorkerOrder> parse_order(std::string_view line);

}  // namespace parity
