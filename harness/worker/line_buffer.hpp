#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace parity {

/// Bytes as they come out of a pipe, taken out by lines.
class LineBuffer {
 public:
  void add(std::string_view bytes) { bytes_.append(bytes); }
  /// The next whole line, without its newline; empty when there is none yet.
  std::optional<std::string> take() {
    const std::size_t newline = bytes_.find('\n', searched_);
    if (newline == std::string::npos) {
      searched_ = bytes_.size();
      return std::nullopt;
    }
    std::string line = bytes_.substr(0, newline);
    bytes_.erase(0, newline + 1);
    searched_ = 0;
    return line;
  }
  /// What is left: the beginning of a line.
  const std::string& rest() const { return bytes_; }

 private:
  std::string bytes_;
  std::size_t searched_ = 0;  ///< no newline before here
};

}  // namespace parity
