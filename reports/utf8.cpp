#include "reports/utf8.hpp"

namespace parity {
namespace {

/// Length of the sequence a lead byte announces; 0: not a lead byte.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  static constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = sequence_length(lead);
    bool valid = length != 0 && i + length <= text.size();
    char32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xc0) == 0x80;
      point = (point << 6) | (next & 0x3fu);
    }
    valid = valid && point >= least[length] && point <= 0x10ffff && !(point >= 0xd800 && point < 0xe000);
    points += valid ? point : U'\ufffd';
    i += valid ? length : 1;
  }
  return points;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0 | (point >> 6)), put(0x80 | (point & 0x3f));
  if (point < 0x10000) {
    put(0xe0 | (point >> 12));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
  }
  put(0x80 | ((point >> 6) & 0x3f));
  put(0x80 | (point & 0x3f));
}

}  // namespace parity
