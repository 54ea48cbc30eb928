#include "harness/tensor/npy_header.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "harness/tensor/file_io.hpp"

namespace parity {
namespace {

constexpr std::size_t most_npy_dimensions = 32;

/// Reads the dictionary literal that NumPy writes, and nothing else of Python.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<NpyHeader> parse() {
    if (!take('{')) return error("does not start with '{'");
    while (!take('}')) {
      const auto key = string();
      if (!key) return tl::unexpected(key.error());
      if (!take(':')) return error(fmt::format("has no ':' after the key '{}'", printable(*key)));
      if (const auto field = value(*key); !field) return tl::unexpected(field.error());
      if (take('}')) break;
      if (!take(','))
        return error(fmt::format("has neither ',' nor '}}' after the value of '{}'", printable(*key)));
    }
    skip_space();
    if (at_ != text_.size()) {
      return error(fmt::format("goes on after its '}}': \"{}\"", printable(text_.substr(at_), 20)));
    }
    if (!has_descr_) return error("has no 'descr'");
    if (!has_order_) return error("has no 'fortran_order'");
    if (!has_shape_) return error("has no 'shape'");
    return header_;
  }

 private:
  tl::unexpected<Error> error(const std::string& what) const {
    return bad_input(fmt::format("{}: the .npy header {} (near character {} of \"{}\")", name_, what, at_,
                                 printable(text_)));
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<std::string> string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') return error("has no quoted text where one is due");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return error("has a quote that is never closed");
    std::string content(text_.substr(at_ + 1, end - at_ - 1));
    if (content.find('\\') != std::string::npos)
      return error("has an escape in quoted text, which no dtype needs");
    at_ = end + 1;
    return content;
  }

  Result<void> value(const std::string& key) {
    if (key == "descr") {
      if (std::exchange(has_descr_, true)) return error("has 'descr' twice");
      if (take('['))
        return error("describes a structured dtype ('descr' is a list); only plain dtypes are read");
      auto text = string();
      if (!text) return tl::unexpected(text.error());
      header_.descr = *std::move(text);
      return {};
    }
    if (key == "fortran_order") {
      if (std::exchange(has_order_, true)) return error("has 'fortran_order' twice");
      if (take("True")) {
        header_.fortran_order = true;
      } else if (!take("False")) {
        return error("has a 'fortran_order' that is neither True nor False");
      }
      return {};
    }
    if (key == "shape") {
      if (std::exchange(has_shape_, true)) return error("has 'shape' twice");
      return shape();
    }
    return error(fmt::format("has the unknown key '{}'", printable(key)));
  }

  Result<void> shape() {
    if (!take('(')) return error("has a 'shape' that is not a tuple");
    while (!take(')')) {
      skip_space();
      std::int64_t size = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (code == std::errc::result_out_of_range) return error("has a dimension that does not fit 64 bits");
      if (code != std::errc{}) return error("has a dimension that is not an integer");
      if (size < 0) return error(fmt::format("has the negative dimension {}", size));
      at_ += static_cast<std::size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a Python 2 long
      if (header_.shape.size() == most_npy_dimensions) {
        return error(fmt::format("has more than {} dimensions", most_npy_dimensions));
      }
      header_.shape.push_back(size);
      if (take(')')) {
        if (header_.shape.size() == 1)
          return error("has a 'shape' that is a number in parentheses, not a tuple");
        return {};
      }
      if (!take(',')) return error("has neither ',' nor ')' after a dimension");
    }
    return {};
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

Result<NpyPreamble> parse_npy_preamble(std::span<const std::byte> first_bytes, std::uint64_t file_size,
                                       const std::string& name) {
  static constexpr unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (first_bytes.size() < 10) {
    return bad_input(fmt::format("{}: {} bytes are too few for a .npy file, whose preamble alone takes 10",
                                 name, first_bytes.size()));
  }
  if (std::memcmp(first_bytes.data(), magic, sizeof magic) != 0) {
    return bad_input(fmt::format("{}: not a .npy file (it does not start with \\x93NUMPY)", name));
  }
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(first_bytes[i]); };
  const std::uint64_t major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0) {
    return bad_input(fmt::format("{}: .npy version {}.{} is unknown; versions 1.0, 2.0 and 3.0 are read",
                                 name, major, byte(7)));
  }
  NpyPreamble preamble;
  preamble.begin = major == 1 ? 10 : 12;
  if (first_bytes.size() < preamble.begin) {
    return bad_input(fmt::format("{}: the file ends inside the preamble of .npy version {}.0", name, major));
  }
  preamble.length = byte(8) | byte(9) << 8;
  if (major > 1) preamble.length |= byte(10) << 16 | byte(11) << 24;
  if (preamble.length > file_size - preamble.begin) {
    return bad_input(
        fmt::format("{}: the .npy header claims {} bytes, but only {} bytes follow; is it truncated?", name,
                    preamble.length, file_size - preamble.begin));
  }
  if (preamble.length > npy_header_limit) {
    return bad_input(fmt::format("{}: the .npy header claims {} bytes; the limit is {}", name,
                                 preamble.length, npy_header_limit));
  }
  return preamble;
}

Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& name) {
  return HeaderParser(text, name).parse();
}

}  // namespace parity
