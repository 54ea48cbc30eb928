#pragma once
#include <cstdint>
#include <functional>
#include <span>

namespace parity::vulkan {

/// The shaders compiled into the program; shaders/*.comp with the macros that CMakeLists.txt names.
enum class Shader : std::uint8_t {
  naive_f32,
  naive_f32_storage16,
  tiled_f32,
  tiled_f32_storage16,
  tiled_f16,
  tiled_i8,
  coopmat_16bit,
  coopmat_f16,
  coopmat_i8,
  coopmat_i8_vectors_of_8,
  elementwise,
  cast,
  recurrent,
  norm,
  columns,
  rope,
  loss,
  whole,
  embedding,
  embedding_backward,
  atomic,
  optimizer,
  trace_scan,
  xsa,
  attention,
  attention_backward,
  device_function,
  device_function_f16,
};

/// SPIR-V words of a shader, checked by spirv-val when they were built.
std::span<const std::uint32_t> spirv_of(Shader shader);

/// Where a device takes its shaders from: spirv_of, or faulty ones for some.
using ShaderSource = std::function<std::span<const std::uint32_t>(Shader)>;

}  // namespace parity::vulkan
