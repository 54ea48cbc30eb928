# What is compiled once instead of in every file: fmt's functions and the common headers.
set(precompiled
  <algorithm> <array> <bit> <cmath> <cstddef> <cstdint> <cstring> <filesystem> <fstream> <functional> <limits> <map>
  <memory> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <utility> <vector>
  <fmt/format.h> <fmt/ranges.h> <tl/expected.hpp>)

# parity_fmt: fmt as a static library; see fmt_library.cpp.
add_library(parity_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_library.cpp)
target_link_libraries(parity_fmt PRIVATE parity_options tl::expected OpenMP::OpenMP_CXX)
if(fmt_VERSION VERSION_LESS 11)
  get_target_property(fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(parity_fmt SYSTEM PUBLIC ${fmt_include})
else()
  message(STATUS "fmt ${fmt_VERSION}: header-only, for cmake/fmt_library.cpp does not know its parts; builds take longer")
  target_link_libraries(parity_fmt PUBLIC fmt::fmt-header-only)
endif()
target_precompile_headers(parity_fmt PRIVATE ${precompiled})

if(PARITY_TESTS)
  add_library(parity_test_main STATIC ${CMAKE_CURRENT_LIST_DIR}/test_main.cpp)
  target_link_libraries(parity_test_main PUBLIC GTest::gtest PRIVATE parity_options parity_fmt tl::expected OpenMP::OpenMP_CXX)
  target_precompile_headers(parity_test_main PRIVATE ${precompiled} <gtest/gtest.h>)
  parity_compile_quickly(parity_test_main)
endif()
