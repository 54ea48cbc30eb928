#include "fuzz/targets.hpp"
#include "harness/tensor/npy.hpp"

namespace parity::fuzz {

std::string npy(std::span<const std::byte> bytes) {
  for (const bool as_bf16 : {false, true}) {
    const auto tensor = parse_npy(bytes, "fuzz", as_bf16);
    if (!tensor) {
      if (!tensor.error().message.starts_with("fuzz: ")) return "an error that does not name the file";
      if (tensor.error().message.size() > 2000) return "an error that repeats the file";
      continue;
    }
    // The data is all there, no more and no less, and every element can be read.
    const std::size_t stored = tensor->bytes().size();
    if (stored > bytes.size()) return "more data than the file has";
    if (static_cast<std::size_t>(tensor->elements()) * size_of(tensor->dtype()) != stored)
      return "elements without data";
    if (!tensor->contiguous()) return "a result that is not row-major";
    if (content_hash(*tensor) != content_hash(Tensor(*tensor))) return "a hash that changes";
  }
  return "";
}

}  // namespace parity::fuzz
