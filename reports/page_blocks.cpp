#include <fmt/format.h>
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

/// In zlib's format (RFC 1950), which reports/html/inflate.js unpacks.
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
  std::size_t first = 0, next = 0;
  const auto finish = [&] {
    if (next == first) return;
    blocks += fmt::format("\n{} {} ", first, lines.size());
    append_base64(blocks, deflated(lines));
    lines.clear();
    first = next;
  };
  for (const PageSource& source : sources)
    for (const Record& record : source.records) {
      if (next > first) lines += '\n';
      lines += page_detail(record);
      ++next;
      if (lines.size() >= page_block_bytes) finish();
    }
  finish();
  return blocks;
}

}  // namespace parity
