#pragma once
#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/program_run.hpp"

namespace parity {

/// A Chromium without a window, for tests of pages, spoken to in the DevTools protocol over a pipe.
class Browser {
 public:
  /// The program: PARITY_BROWSER, or the first of the usual names in PATH; empty: there is none.
  static std::string find();
  /// Starts it with one empty page; nothing where that fails, with the reason in `why`.
  static std::unique_ptr<Browser> start(const std::string& program, std::string& why);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  /// Opens an address and waits until it has loaded.
  void open(const std::string& address);
  /// What an expression comes to in the page; a promise is waited for. null and a complaint when it throws.
  nlohmann::json evaluate(const std::string& expression);
  /// Width and height of the page, in CSS pixels.
  void resize(int width, int height);
  /// A command of the protocol, in the page's session; its result.
  nlohmann::json command(const std::string& method, nlohmann::json parameters = nlohmann::json::object());

  /// Addresses that were asked for, and what the page's scripts or its policy complained of.
  const std::vector<std::string>& requests() const { return requests_; }
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  Browser() = default;
  nlohmann::json read_message();
  void note(const nlohmann::json& message);

  ScratchDirectory profile_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  int last_id_ = 0;
  bool loaded_ = false;
  std::string session_, received_;
  std::vector<std::string> requests_, complaints_;
};

}  // namespace parity
