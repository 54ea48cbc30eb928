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
    case Shader::tiled_i8:
      return spirv_tiled_i8;
    case Shader::coopmat_16bit:
      return spirv_coopmat_16bit;
    case Shader::coopmat_f16:
      return spirv_coopmat_f16;
    case Shader::coopmat_i8:
      return spirv_coopmat_i8;
    case Shader::coopmat_i8_vectors_of_8:
      return spirv_coopmat_i8_vectors_of_8;
    case Shader::elementwise:
      return spirv_elementwise;
    case Shader::cast:
      return spirv_cast;
    case Shader::recurrent:
      return spirv_recurrent;
    case Shader::norm:
      return spirv_norm;
    case Shader::columns:
      return spirv_columns;
    case Shader::rope:
      return spirv_rope;
    case Shader::loss:
      return spirv_loss;
    case Shader::whole:
      return spirv_whole;
    case Shader::embedding:
      return spirv_embedding;
    case Shader::embedding_backward:
      return spirv_embedding_backward;
    case Shader::atomic:
      return spirv_atomic;
    case Shader::optimizer:
      return spirv_optimizer;
    case Shader::trace_scan:
      return spirv_trace_scan;
    case Shader::xsa:
      return spirv_xsa;
    case Shader::attention:
      return spirv_attention;
    case Shader::attention_backward:
      return spirv_attention_backward;
    case Shader::device_function:
      return spirv_device_function;
    case Shader::device_function_f16:
      return spirv_device_function_f16;
  }
  return {};
}

}  // namespace parity::vulkan
