#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/vulkan/shader_library.hpp"

namespace parity::vulkan {

/// A shader with a fault of the catalogue; the sources are the production ones with one text changed.
struct Mutant {
  std::string_view fault;
  Shader shader;
  std::span<const std::uint32_t> words;
};

/// All of them; the table is made when the project is built (compile_mutants.cmake).
std::span<const Mutant> mutants();

}  // namespace parity::vulkan
