#include "backends/vulkan/shader_library.hpp"

// Written by embed_spirv.cmake: one array of words a shader, `spirv_<name>`.
#include "embedded_shaders.hpp"

namespace parity::vulkan {

std::span<const std::uint32_t> spirv_of(Shader shader) {
  switch (shader) {
    case Shader::naive_f32:
      return spirv_naive_f32;
    case Shader::naive_f32_storage16:
      return spirv_naive_f32_storage16;
    case Shader::tiled_f32:
      return spirv_tiled_f32;
    case Shader::tiled_f32_storage16:
      return spirv_tiled_f32_storage16;
    case Shader::tiled_f16:
      return spirv_tiled_f16;
    case Shader::coopmat_16bit:
      return spirv_coopmat_16bit;
  }
  return {};
}

}  // namespace parity::vulkan
