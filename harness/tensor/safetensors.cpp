#include "harness/tensor/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/file_io.hpp"
#include "harness/tensor/npy.hpp"

namespace parity {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 6> readable = {{{"F64", DType::f64},
                                                                         {"F32", DType::f32},
                                                                         {"F16", DType::f16},
                                                                         {"BF16", DType::bf16},
                                                                         {"I32", DType::i32},
                                                                         {"I8", DType::i8}}};

/// Edit distance of the names' last 64 characters (what differs between layers stands at the end).
std::size_t distance(std::string_view a, std::string_view b) {
  constexpr std::size_t most = 64;
  if (a.size() > most) a.remove_prefix(a.size() - most);
  if (b.size() > most) b.remove_prefix(b.size() - most);
  std::array<std::size_t, most + 1> row{};
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// The few names most like `wanted`, for a message.
std::string nearest_names(const std::vector<SafetensorsEntry>& entries, const std::string& wanted) {
  constexpr std::size_t shown = 5, searched = 20000;
  std::vector<std::pair<std::size_t, std::string_view>> candidates;
  for (const SafetensorsEntry& entry : entries) {
    if (candidates.size() == searched) break;
    candidates.emplace_back(distance(wanted, entry.name), entry.name);
  }
  std::sort(candidates.begin(), candidates.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, candidates.size()); ++i) {
    names.push_back(fmt::format("'{}'", printable(candidates[i].second)));
  }
  const std::string rest = entries.size() > shown ? fmt::format(" and {} more", entries.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), rest);
}

Result<SafetensorsEntry> find_entry(const std::vector<SafetensorsEntry>& entries, const std::string& name,
                                    const std::string& tensor) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const SafetensorsEntry& entry) { return entry.name == tensor; });
  if (found != entries.end()) return *found;
  if (entries.empty()) return bad_input(fmt::format("{}: holds no tensor at all", name));
  return bad_input(fmt::format("{}: has no tensor '{}'; the nearest names are {}", name, printable(tensor),
                               nearest_names(entries, tensor)));
}

/// The tensor of an entry, its bytes still to be filled.
Result<Tensor> allocate(const SafetensorsEntry& entry, const std::string& name) {
  const auto found = std::find_if(readable.begin(), readable.end(),
                                  [&](const auto& candidate) { return candidate.first == entry.dtype; });
  if (found == readable.end()) {
    return bad_input(
        fmt::format("{}: tensor '{}' is of dtype '{}', which is {}; F64, F32, F16, BF16, I32 and I8 are",
                    name, printable(entry.name), printable(entry.dtype),
                    safetensors_bits(entry.dtype) ? "not supported" : "unknown"));
  }
  auto created = Tensor::create(found->second, entry.shape);
  if (!created) {
    return bad_input(
        fmt::format("{}: tensor '{}': {}", name, printable(entry.name), created.error().message));
  }
  return created;
}

/// An open file and its checked header.
struct OpenFile {
  FileReader reader;
  std::vector<SafetensorsEntry> entries;
  std::uint64_t data_begin = 0;
};

Result<OpenFile> open_file(const std::filesystem::path& file) {
  const std::string name = file.string();
  auto reader = FileReader::open(file);
  if (!reader) return tl::unexpected(reader.error());
  std::array<std::byte, 8> first{};
  const auto first_bytes = std::span(first).first(std::min<std::size_t>(reader->size(), first.size()));
  if (const auto read = reader->read(0, first_bytes); !read) return tl::unexpected(read.error());
  const auto length = parse_safetensors_length(first_bytes, reader->size(), name);
  if (!length) return tl::unexpected(length.error());
  std::vector<std::byte> json(*length);
  if (const auto read = reader->read(first.size(), json); !read) return tl::unexpected(read.error());
  const std::uint64_t data_begin = first.size() + *length;
  auto entries = parse_safetensors_json({reinterpret_cast<const char*>(json.data()), json.size()},
                                        reader->size() - data_begin, name);
  if (!entries) return tl::unexpected(entries.error());
  return OpenFile{*std::move(reader), *std::move(entries), data_begin};
}

Result<Tensor> read_entry(const OpenFile& file, const SafetensorsEntry& entry, const std::string& name) {
  auto tensor = allocate(entry, name);
  if (!tensor) return tensor;
  const auto read = file.reader.read(file.data_begin + entry.begin, tensor->bytes());
  if (!read) return tl::unexpected(read.error());
  return tensor;
}

/// The tensor of a file that holds exactly one.
Result<Tensor> read_only_tensor(const std::string& file) {
  const auto opened = open_file(file);
  if (!opened) return tl::unexpected(opened.error());
  if (opened->entries.size() == 1) return read_entry(*opened, opened->entries.front(), file);
  if (opened->entries.empty()) return bad_input(fmt::format("{}: holds no tensor at all", file));
  return bad_input(fmt::format("{}: holds {} tensors; name one as '{}:NAME': {}", file,
                               opened->entries.size(), file, nearest_names(opened->entries, "")));
}

}  // namespace

Result<Tensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& name,
                                 const std::string& tensor) {
  const auto entries = parse_safetensors_header(bytes, name);
  if (!entries) return tl::unexpected(entries.error());
  const auto entry = find_entry(*entries, name, tensor);
  if (!entry) return tl::unexpected(entry.error());
  auto result = allocate(*entry, name);
  if (!result) return result;
  const std::uint64_t data_size = entries->empty() ? 0 : entries->back().end;
  const auto data = bytes.last(data_size).subspan(entry->begin, entry->end - entry->begin);
  if (!data.empty()) std::memcpy(result->bytes().data(), data.data(), data.size());
  return result;
}

Result<Tensor> read_safetensors(const std::filesystem::path& file, const std::string& tensor) {
  const std::string name = file.string();
  const auto opened = open_file(file);
  if (!opened) return tl::unexpected(opened.error());
  const auto entry = find_entry(opened->entries, name, tensor);
  if (!entry) return tl::unexpected(entry.error());
  return read_entry(*opened, *entry, name);
}

Result<void> write_safetensors(const std::filesystem::path& file,
                               const std::map<std::string, Tensor>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::vector<Tensor>
      dense;  // row-major copies of the strided ones; reserved, so that spans into it stay valid
  dense.reserve(tensors.size());
  std::vector<std::span<const std::byte>> parts = {{}, {}};
  std::uint64_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") {
      return bad_input(fmt::format("{}: '__metadata__' cannot be a tensor's name", file.string()));
    }
    const Tensor* stored = &tensor;
    if (!tensor.contiguous()) {
      auto copy = convert(tensor, tensor.dtype());
      if (!copy) return tl::unexpected(copy.error());
      stored = &dense.emplace_back(*std::move(copy));
    }
    const auto dtype =
        std::find_if(readable.begin(), readable.end(),
                     [&, type = tensor.dtype()](const auto& candidate) { return candidate.second == type; });
    const std::uint64_t end = begin + stored->bytes().size();
    header[name] = {{"dtype", dtype->first}, {"shape", tensor.shape()}, {"data_offsets", {begin, end}}};
    parts.push_back(stored->bytes());
    begin = end;
  }
  // A name that is no UTF-8 cannot be written as JSON.
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (nlohmann::json::parse(text, nullptr, false) != header) {
    return bad_input(fmt::format("{}: a tensor's name is no valid UTF-8", file.string()));
  }
  text.append((8 - text.size() % 8) % 8, ' ');  // the data starts at a multiple of 8
  const std::uint64_t length = text.size();
  parts[0] = std::as_bytes(std::span(&length, 1));
  parts[1] = std::as_bytes(std::span(text));
  return write_file(file, parts);
}

Result<Tensor> read_tensor(const std::string& reference) {
  constexpr std::string_view npy = ".npy", npy_with = ".npy:", safe = ".safetensors",
                             safe_with = ".safetensors:";
  if (reference.ends_with(npy)) return read_npy(reference);
  if (reference.ends_with(safe)) return read_only_tensor(reference);
  if (const std::size_t at = reference.find(safe_with); at != std::string::npos) {
    return read_safetensors(reference.substr(0, at + safe.size()), reference.substr(at + safe_with.size()));
  }
  if (const std::size_t at = reference.rfind(npy_with); at != std::string::npos) {
    const std::string suffix = reference.substr(at + npy_with.size());
    if (suffix == "bf16") return read_npy(reference.substr(0, at + npy.size()), true);
    return bad_input(fmt::format("'{}': ':{}' means nothing for a .npy file; only ':bf16' does",
                                 printable(reference), printable(suffix)));
  }
  return bad_input(
      fmt::format("'{}' names no tensor: give FILE.npy, FILE.npy:bf16, FILE.safetensors or "
                  "FILE.safetensors:NAME",
                  printable(reference)));
}

}  // namespace parity
