# cmake -DOUTPUT=file.hpp -DMODULES="name=file.spv|name=file.spv" -P embed_spirv.cmake
# Writes each module as an array of 32-bit words.
set(text "// Generated from shaders/*.comp; do not edit.\n#pragma once\n#include <cstdint>\n\nnamespace parity::vulkan {\n")
string(REPLACE "|" ";" modules "${MODULES}")
foreach(module IN LISTS modules)
  string(REGEX MATCH "^([^=]+)=(.+)$" unused "${module}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  # SPIR-V files of this build are little-endian.
  string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${bytes}")
  string(REGEX REPLACE "(0x[0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+,)"
         "  \\1\n" words "${words}")
  string(APPEND text "inline constexpr std::uint32_t spirv_${name}[] = {\n${words}};\n")
endforeach()
string(APPEND text "}  // namespace parity::vulkan\n")
file(WRITE ${OUTPUT} "${text}")
