#pragma once
#include <span>
#include <string_view>

namespace parity {

/// One of the files that the page is made of.
struct PageFile {
  std::string_view name, text;
};

/// The files of reports/html/, embedded at build time.
std::span<const PageFile> page_files();

}  // namespace parity
