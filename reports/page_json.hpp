#pragma once
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

namespace parity {

/// JSON for a script element of a page, written piece by piece (a whole page as one tree of a JSON library
/// would be some hundred megabytes): short numbers, and no '<', so that no text can end the element it stands
/// in.
class PageJson {
 public:
  /// A value's comma, where one is due; called by everything that starts a value.
  PageJson& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  PageJson& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  PageJson& key(std::string_view name) {
    separate();
    text_ += fmt::format("\"{}\":", name);
    first_ = true;
    return *this;
  }
  PageJson& string(std::string_view value);
  PageJson& integer(std::int64_t value) {
    separate();
    fmt::format_to(std::back_inserter(text_), "{}", value);
    return *this;
  }
  /// `digits` significant ones. What is not finite is the string "nan", "inf" or "-inf", as in a record.
  PageJson& number(double value, int digits = 4) {
    separate();
    if (std::isnan(value))
      text_ += "\"nan\"";
    else if (std::isinf(value))
      text_ += value > 0 ? "\"inf\"" : "\"-inf\"";
    else
      fmt::format_to(std::back_inserter(text_), "{:.{}g}", value, digits);
    return *this;
  }
  /// Another one's text.
  PageJson& raw(std::string_view json) {
    separate();
    text_ += json;
    return *this;
  }
  PageJson& nothing() {
    separate();
    text_ += "null";
    return *this;
  }
  template <class Range, class Each>
  PageJson& array(const Range& range, const Each& each) {
    open('[');
    for (const auto& item : range) each(item);
    return close(']');
  }

  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace parity
