#pragma once
#include <bit>
#include <cstdint>
#include <string_view>

namespace parity {

/// FNV-1a, 64 bits: the same on every machine. To tell things apart, not to protect them.
class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) byte(static_cast<unsigned char>(c));
  }
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) byte(value >> (8 * i) & 0xff);
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  /// A text and its length, so that texts one after the other do not run together.
  void add_field(std::string_view text) {
    add(text);
    add(std::uint64_t{text.size()});
  }
  std::uint64_t value() const { return hash_; }

 private:
  void byte(std::uint64_t b) { hash_ = (hash_ ^ b) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace parity
