#include "harness/worker/message.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>

namespace parity {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view ready_begins = R"({"ready":)";
constexpr std::string_view refused_begins = R"({"refused":)";
constexpr std::string_view begun_begins = R"({"begun":)";
constexpr std::string_view done_begins = R"({"done":)";
constexpr std::string_view last_begins = R"({"last":)";
constexpr std::string_view result_begins = R"(,"result":)";

/// Takes a number off the front.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

std::optional<Error> parse_error(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("kind") || !json.contains("message")) return std::nullopt;
  const Json &kind = json["kind"], &message = json["message"];
  if (!kind.is_number_unsigned() || !message.is_string()) return std::nullopt;
  if (kind.get<unsigned>() > static_cast<unsigned>(ErrorKind::internal)) return std::nullopt;
  return Error{static_cast<ErrorKind>(kind.get<unsigned>()), message.get<std::string>()};
}

}  // namespace

std::string ready_line(std::string_view payload) {
  return fmt::format("{}{}}}\n", ready_begins, payload);
}

std::string refused_line(const Error& error) {
  const Json fields{{"kind", static_cast<unsigned>(error.kind)}, {"message", error.message}};
  return fmt::format("{}{}}}\n", refused_begins, fields.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string begun_line(std::size_t number) {
  return fmt::format("{}{}}}\n", begun_begins, number);
}

std::string done_line(std::size_t number, std::string_view payload) {
  return fmt::format("{}{}{}{}}}\n", done_begins, number, result_begins, payload);
}

std::string last_line(std::size_t number, std::string_view payload) {
  return fmt::format("{}{}{}{}}}\n", last_begins, number, result_begins, payload);
}

// A result is long: its text is cut out, and parsed once by the one who reads it.
std::optional<WorkerMessage> parse_worker_message(std::string_view line) {
  WorkerMessage message;
  if (!line.ends_with('}')) return std::nullopt;
  line.remove_suffix(1);
  if (take(line, ready_begins)) {
    message.payload = line;
    return message;
  }
  if (take(line, refused_begins)) {
    const auto error = parse_error(line);
    if (!error) return std::nullopt;
    message.kind = WorkerMessage::Kind::refused;
    message.error = *error;
    return message;
  }
  using Kind = WorkerMessage::Kind;
  if (take(line, begun_begins))
    message.kind = Kind::begun;
  else if (take(line, done_begins))
    message.kind = Kind::done;
  else if (take(line, last_begins))
    message.kind = Kind::last;
  else
    return std::nullopt;
  const auto number = take_number(line);
  if (!number) return std::nullopt;
  message.number = *number;
  if (message.kind == Kind::begun ? !line.empty() : !take(line, result_begins)) return std::nullopt;
  message.payload = line;
  return message;
}

std::string order_line(const WorkerOrder& order) {
  return fmt::format(R"({{"run":{},"passed":[{}]}})"
                     "\n",
                     order.run, fmt::join(order.passed, ","));
}

std::optional<WorkerOrder> parse_order(std::string_view line) {
  WorkerOrder order;
  if (!take(line, R"({"run":)")) return std::nullopt;
  const auto number = take_number(line);
  if (!number || !take(line, R"(,"passed":[)")) return std::nullopt;
  order.run = *number;
  while (const auto passed = take_number(line)) {
    order.passed.push_back(*passed);
    if (!take(line, ",")) break;
  }
  return line == "]}" ? std::optional(std::move(order)) : std::nullopt;
}

}  // namespace parity
