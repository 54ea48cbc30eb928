# How every target of the project is compiled. `parity_options` carries the flags; `parity_library` and
# `parity_test` keep the folders' own CMakeLists.txt to a list of files.
add_library(parity_options INTERFACE)
target_compile_features(parity_options INTERFACE cxx_std_20)
target_include_directories(parity_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(parity_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion>
  # Emulated bits must not depend on the compiler's taste for contraction.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(PARITY_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(parity_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=${PARITY_MARCH}>)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Programs are compiled as libraries are, so that both may use one precompiled header.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/parity)
# Programs with sanitizers and debug information take GNU ld several times as long.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  find_program(PARITY_LLD ld.lld)
  if(PARITY_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are cached only when these need not be compared.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(parity_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

# parity_precompile(NAME): a target that starts from the headers nearly every file includes. Files still include what
# they use: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows it.
function(parity_precompile name)
  # A precompiled header is only good for the options it was made with.
  target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)
  target_precompile_headers(${name} REUSE_FROM parity_fmt)
endfunction()

# parity_library(NAME sources...): a static, position-independent library of the project.
function(parity_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC parity_options tl::expected parity_fmt)
  parity_precompile(${name})
endfunction()

# parity_guide_fuzzer(NAME): a target whose branches and comparisons guide the fuzz targets. The counters cost every loop
# they stand in, so only what reads a user's bytes has them. (What -fsanitize=fuzzer-no-link stands for: that option
# itself would need a precompiled header of its own.)
function(parity_guide_fuzzer name)
  if(PARITY_FUZZ)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table>)
  endif()
endfunction()

# parity_compile_quickly(NAME): a target whose compilation takes longer than optimisation would ever save: test code, and
# the command line, which only calls what does the work.
function(parity_compile_quickly name)
  target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# parity_test(NAME [PARTS N] LIBRARIES libs... SOURCES files...): one GoogleTest program, known to CTest test by test, or
# with PARITY_TEST_PROCESS=program as a whole, in N parts. Programs of more parts take longer and begin earlier.
function(parity_test name)
  if(NOT PARITY_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "" "PARTS" "LIBRARIES;SOURCES" ${ARGN})
  if(NOT T_PARTS)
    set(T_PARTS 1)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE parity_options ${T_LIBRARIES} parity_test_main OpenMP::OpenMP_CXX)
  target_precompile_headers(${name} REUSE_FROM parity_test_main)
  parity_compile_quickly(${name})
  if(PARITY_TEST_PROCESS STREQUAL "case")
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${name} COST ${T_PARTS})
    return()
  endif()
  math(EXPR last "${T_PARTS} - 1")
  foreach(part RANGE ${last})
    set(title ${name})
    if(T_PARTS GREATER 1)
      math(EXPR number "${part} + 1")
      set(title "${name} ${number}/${T_PARTS}")
    endif()
    add_test(NAME ${title} COMMAND ${name})
    set_tests_properties(${title} PROPERTIES LABELS ${name} COST ${T_PARTS}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${T_PARTS};GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

# embed_texts(VARIABLE NAME_PART GLOB): {"name", R"(text)"} entries of the files, made anew when one changes.
function(embed_texts variable name_part glob)
  set(entries "")
  file(GLOB files CONFIGURE_DEPENDS ${glob})
  foreach(file ${files})
    get_filename_component(name ${file} ${name_part})
    file(READ ${file} text)
    string(APPEND entries "      {\"${name}\", R\"embedded(${text})embedded\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  set(${variable} "${entries}" PARENT_SCOPE)
endfunction()
