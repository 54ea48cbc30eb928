// content_hash: blocks of the logical byte stream are hashed independently (so in parallel) on four lanes of
// multiply and fold, then folded in order. The block length is part of the definition.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "harness/tensor/layout.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {
namespace {

// Odd multipliers: the golden ratio, and the two of Stafford's mixer (variant 13), which `finish` is.
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t mix1 = 0xbf58476d1ce4e5b9U;
constexpr std::uint64_t mix2 = 0x94d049bb133111ebU;

/// Full avalanche of one word.
std::uint64_t finish(std::uint64_t x) {
  x = (x ^ (x >> 30)) * mix1;
  x = (x ^ (x >> 27)) * mix2;
  return x ^ (x >> 31);
}

/// Folds the 128-bit product: every bit of the word reaches both halves. (A 64-bit product alone would turn a
/// flipped top bit, a sign, into one flipped bit that the next word can undo.)
std::uint64_t absorb(std::uint64_t state, std::uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(state ^ word) * golden;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_bytes(const std::byte* data, std::size_t size) {
  std::array<std::uint64_t, 4> lane = {golden, mix1, mix2, ~golden};
  std::size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    std::array<std::uint64_t, 4> word;
    std::memcpy(word.data(), data + at, 32);
    for (std::size_t l = 0; l < 4; ++l) lane[l] = absorb(lane[l], word[l]);
  }
  for (; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min<std::size_t>(8, size - at));
    lane[0] = absorb(lane[0], word);
  }
  std::uint64_t hash = finish(size);
  for (const std::uint64_t l : lane) hash = absorb(hash, finish(l));
  return finish(hash);
}

}  // namespace

std::uint64_t content_hash(const Tensor& tensor) {
  const std::size_t size = size_of(tensor.dtype());
  const std::int64_t elements = tensor.elements();
  const std::int64_t blocks = (elements + layout::block - 1) / layout::block;
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(blocks));
#pragma omp parallel if (blocks > 4)
  {
    std::vector<std::byte> gathered(tensor.contiguous() ? 0 : static_cast<std::size_t>(layout::block) * size);
#pragma omp for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = b * layout::block;
      const std::int64_t end = std::min(elements, begin + layout::block);
      const std::byte* data = tensor.bytes().data() + static_cast<std::size_t>(begin) * size;
      if (!tensor.contiguous()) {
        layout::for_runs(
            tensor, begin, end,
            [&](std::int64_t logical, std::int64_t storage, std::int64_t count, std::int64_t step) {
              for (std::int64_t i = 0; i < count; ++i) {
                std::memcpy(gathered.data() + static_cast<std::size_t>(logical - begin + i) * size,
                            tensor.bytes().data() + static_cast<std::size_t>(storage + i * step) * size,
                            size);
              }
            });
        data = gathered.data();
      }
      hashes[static_cast<std::size_t>(b)] = hash_bytes(data, static_cast<std::size_t>(end - begin) * size);
    }
  }
  std::uint64_t hash = finish(static_cast<std::uint64_t>(tensor.dtype()) + golden);
  for (const std::int64_t dimension : tensor.shape())
    hash = absorb(hash, finish(static_cast<std::uint64_t>(dimension) + 1));
  for (const std::uint64_t h : hashes) hash = absorb(hash, h);
  return finish(hash);
}

}  // namespace parity
