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
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/parity)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# parity_library(NAME sources...): a static, position-independent library of the project.
function(parity_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC parity_options tl::expected fmt::fmt-header-only)
endfunction()

# parity_test(NAME LIBRARIES libs... SOURCES files...): one GoogleTest program, each test known to CTest.
function(parity_test name)
  if(NOT PARITY_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "" "" "LIBRARIES;SOURCES" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE parity_options ${T_LIBRARIES} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${name})
endfunction()
