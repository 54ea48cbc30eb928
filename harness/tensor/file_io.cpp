#include "harness/tensor/file_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace parity {
namespace {

std::string reason(int code) {
  return std::generic_category().message(code);
}

/// One read or write call moves at most this much, whatever the system's own limit is.
constexpr std::size_t largest_transfer = std::size_t{1} << 30;

Result<void> write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), largest_transfer));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return bad_input(reason(written == 0 ? ENOSPC : errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", byte);
    }
  }
  if (text.size() > limit) shown += "...";
  return shown;
}

FileReader::FileReader(int descriptor, std::uint64_t size, std::string name)
    : descriptor_(descriptor), size_(size), name_(std::move(name)) {}

FileReader::FileReader(FileReader&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), name_(std::move(other.name_)) {}

FileReader::~FileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<FileReader> FileReader::open(const std::filesystem::path& file) {
  const std::string name = file.string();
  // Without O_NONBLOCK a pipe that nobody writes to would hang here, before it is refused.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return bad_input(fmt::format("{}: cannot open it for reading: {}", name, reason(errno)));
  FileReader reader(descriptor, 0, name);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return bad_input(fmt::format("{}: {}", name, reason(errno)));
  if (!S_ISREG(status.st_mode)) return bad_input(fmt::format("{}: not a regular file", name));
  reader.size_ = static_cast<std::uint64_t>(status.st_size);
  return reader;
}

Result<void> FileReader::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(descriptor_, out.data(), std::min(out.size(), largest_transfer), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return bad_input(fmt::format("{}: cannot read at byte {}: {}", name_, offset, reason(errno)));
    if (got == 0) {
      return bad_input(
          fmt::format("{}: the file ends at byte {}, {} bytes before it should", name_, offset, out.size()));
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<void> write_file(const std::filesystem::path& file,
                        std::span<const std::span<const std::byte>> parts) {
  const std::string name = file.string();
  std::string temporary = name + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) {
    return bad_input(fmt::format("{}: cannot create a file beside it: {}", name, reason(errno)));
  }
  const auto give_up = [&](const std::string& why) {
    ::unlink(temporary.c_str());
    return bad_input(fmt::format("{}: cannot write it: {}; the file is left as it was", name, why));
  };
  Result<void> written{};
  for (const auto& part : parts) {
    if (written) written = write_all(descriptor, part);
  }
  // mkstemp creates for the owner alone; a result is an ordinary file.
  if (written && ::fchmod(descriptor, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0)
    written = bad_input(reason(errno));
  if (written && ::fsync(descriptor) != 0) written = bad_input(reason(errno));
  if (::close(descriptor) != 0 && written) written = bad_input(reason(errno));
  if (!written) return give_up(written.error().message);
  if (::rename(temporary.c_str(), name.c_str()) != 0) return give_up(reason(errno));
  return {};
}

}  // namespace parity
