#include <zlib.h>

#include <new>

#include "reports/page_data.hpp"

namespace parity {
namespace {

/// Bytes as base64 (RFC 4648), which stands in a page as it is.
void append_base64(std::string& text, std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    unsigned bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += i <= group.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
}

/// In zlib's format (RFC 1950), which browsers call "deflate".
std::string deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  // Room for the worst case is there, so memory is all that can be missing.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                text.size(), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw std::bad_alloc();
  packed.resize(size);
  return packed;
}

}  // namespace

std::string page_blocks(std::span<const PageSource> sources) {
  std::string blocks, lines;
  std::size_t held = 0;
  const auto finish = [&] {
    if (held == 0) return;
    append_base64(blocks += '\n', deflated(lines));
    lines.clear();
    held = 0;
  };
  for (const PageSource& source : sources)
    for (const Record& record : source.records) {
      if (held > 0) lines += '\n';
      lines += page_detail(record);
      if (++held == page_block_records) finish();
    }
  finish();
  return blocks;
}

}  // namespace parity
