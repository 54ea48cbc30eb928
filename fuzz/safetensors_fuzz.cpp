#include "harness/tensor/safetensors.hpp"

#include "fuzz/targets.hpp"

namespace parity::fuzz {

std::string safetensors(std::span<const std::byte> bytes) {
  const auto entries = parse_safetensors_header(bytes, "fuzz");
  if (!entries) {
    if (!entries.error().message.starts_with("fuzz: ")) return "an error that does not name the file";
    return entries.error().message.size() > 2000 ? "an error that repeats the file" : "";
  }
  std::uint64_t reached = 0;
  std::size_t looked = 0;
  for (const SafetensorsEntry& entry : *entries) {
    if (entry.begin != reached || entry.end < entry.begin || entry.end > bytes.size())
      return "offsets out of order";
    reached = entry.end;
    // Each look-up parses the header again: a few are enough.
    if (++looked > 8) continue;
    const auto tensor = parse_safetensors(bytes, "fuzz", entry.name);
    if (!tensor) continue;
    if (tensor->bytes().size() != entry.end - entry.begin) return "a tensor of another size than its entry";
    if (tensor->shape() != entry.shape) return "a tensor of another shape than its entry";
  }
  if (parse_safetensors(bytes, "fuzz", "a name that no file has, surely"))
    return "a tensor that is not there";
  return "";
}

}  // namespace parity::fuzz
