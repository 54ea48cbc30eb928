#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace parity {

/// Text from a file, fit for a message: control and non-ASCII bytes shown as \xNN, cut after `limit`
/// characters.
std::string printable(std::string_view text, std::size_t limit = 80);

/// An open file, read at positions, so that a file of many gigabytes costs only the parts that are asked for.
class FileReader {
 public:
  static Result<FileReader> open(const std::filesystem::path& file);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&&) = delete;
  ~FileReader();

  std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset` on; error when the file ends before or a read fails.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  FileReader(int descriptor, std::uint64_t size, std::string name);
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string name_;
};

/// Writes the parts one after the other into a temporary file beside `file` and renames it: `file` appears
/// whole or stays as it was. Every failure (no such folder, no permission, disk full) is an error that names
/// the file.
Result<void> write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);

}  // namespace parity
