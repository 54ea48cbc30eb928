cmake_minimum_required(VERSION 3.25)
# cmake -DMUTANTS=folder -DMODULES="name=file macros...|..." -DGLSLANG=... -DSPIRV_VAL=... -P compile_mutants.cmake
# Compiles and checks the shader modules of every fault that parity_mutate left in the folder, and writes
# MUTANTS/mutants.cpp, which holds them. What has not changed since is not compiled again.
string(REPLACE "|" ";" modules "${MODULES}")
file(STRINGS ${MUTANTS}/mutants.txt lines)
set(assembly "")
set(declarations "")
set(table "")
set(number 0)
foreach(line IN LISTS lines)
  string(STRIP "${line}" line)
  string(REPLACE " " ";" words "${line}")
  list(POP_FRONT words fault)
  file(GLOB sources ${MUTANTS}/${fault}/*.comp ${MUTANTS}/${fault}/*.glsl)
  foreach(name IN LISTS words)
    set(found "")
    foreach(module IN LISTS modules)
      if(module MATCHES "^${name}=([^ ]+)(.*)$")
        set(found ${CMAKE_MATCH_1})
        separate_arguments(macros UNIX_COMMAND "${CMAKE_MATCH_2}")
      endif()
    endforeach()
    if(NOT found)
      message(FATAL_ERROR "fault '${fault}': there is no shader module '${name}'")
    endif()
    set(spirv ${MUTANTS}/${fault}/${name}.spv)
    set(stale FALSE)
    foreach(source IN LISTS sources)
      if(${source} IS_NEWER_THAN ${spirv})
        set(stale TRUE)
      endif()
    endforeach()
    if(stale)
      execute_process(COMMAND ${GLSLANG} --quiet -V --target-env vulkan1.2 ${macros} -o ${spirv} ${MUTANTS}/${fault}/${found}
                      RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
      if(NOT failed)
        execute_process(COMMAND ${SPIRV_VAL} --target-env vulkan1.2 ${spirv}
                        RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
      endif()
      if(failed)
        file(REMOVE ${spirv})
        message(FATAL_ERROR "fault '${fault}', module '${name}': ${text}")
      endif()
    endif()
    string(APPEND assembly "asm(\".section .rodata\\n.balign 16\\n.hidden mutant_${number}\\n.hidden mutant_${number}_end\\n"
           ".global mutant_${number}\\n.global mutant_${number}_end\\nmutant_${number}:\\n.incbin \\\"${spirv}\\\"\\n"
           "mutant_${number}_end:\\n.previous\");\n")
    string(APPEND declarations "extern const std::uint32_t mutant_${number}[], mutant_${number}_end[];\n")
    string(APPEND table "      {\"${fault}\", Shader::${name}, {mutant_${number}, mutant_${number}_end}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
endforeach()
file(WRITE ${MUTANTS}/mutants.cpp "// Made from cases/faults/ and shaders/; do not edit.
#include \"backends/vulkan/faults/mutant.hpp\"

${assembly}
extern \"C\" {
#pragma GCC visibility push(hidden)
${declarations}#pragma GCC visibility pop
}

namespace parity::vulkan {

std::span<const Mutant> mutants() {
  static const Mutant list[] = {
${table}  };
  return list;
}

}  // namespace parity::vulkan
")
