#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace parity::fuzz {

/// Feeds bytes to one parser and checks what must hold whatever they are. Empty when all holds, else what
/// does not. The same functions run under libFuzzer (any input) and under CTest (the seed corpus).
std::string npy(std::span<const std::byte> bytes);
std::string safetensors(std::span<const std::byte> bytes);
std::string case_text(std::span<const std::byte> bytes);

}  // namespace parity::fuzz
