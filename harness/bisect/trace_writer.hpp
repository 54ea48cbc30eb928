#pragma once
// Writes a trace that `parity bisect FOLDER` reads (docs/trace.md). For engines: this header needs nothing
// but the C++17 standard library and no other file of this project. Little-endian hosts.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace parity_trace {

/// Element types by their names in .npy files; bf16 is written as 16-bit words and named in the manifest.
enum class Type { f64, f32, f16, bf16, i32, i8 };

/// Port and file, as the writer's `tensor` returns it.
using Ports = std::vector<std::pair<std::string, std::string>>;

/// One op at a time; the manifest is written again after each, so that a crash loses no op before it. Throws
/// std::runtime_error where a file cannot be written.
class Writer {
 public:
  /// `folder` exists.
  explicit Writer(std::string folder) : folder_(std::move(folder)) {}

  /// Writes row-major elements as NAME.npy and returns the reference that `op` takes.
  std::string tensor(const std::string& name, Type type, const std::vector<std::int64_t>& shape,
                     const void* data) {
    std::string dimensions;
    std::size_t elements = 1;
    for (const std::int64_t size : shape) {
      dimensions += std::to_string(size) + ",";
      elements *= static_cast<std::size_t>(size);
    }
    static const char* const codes[] = {"<f8", "<f4", "<f2", "<u2", "<i4", "|i1"};
    static const std::size_t sizes[] = {8, 4, 2, 2, 4, 1};
    const auto kind = static_cast<std::size_t>(type);
    std::string header = std::string("{'descr': '") + codes[kind] + "', 'fortran_order': False, 'shape': (" +
                         dimensions + "), }";
    // Magic, version and length take 10 bytes; the whole is a multiple of 64 and ends with a newline.
    while ((10 + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    std::ofstream file(folder_ + "/" + name + ".npy", std::ios::binary);
    file.write("\x93NUMPY\x01\x00", 8);
    const char length[2] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    file.write(length, 2);
    file << header;
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(elements * sizes[kind]));
    if (!file.flush()) throw std::runtime_error("cannot write " + folder_ + "/" + name + ".npy");
    return name + (type == Type::bf16 ? ".npy:bf16" : ".npy");
  }

  /// `kind`: an op of `parity list`, or empty. `attributes`: a JSON object. `name`: your own word for it.
  void op(const std::string& kind, const std::string& attributes, const Ports& inputs, const Ports& outputs,
          const std::string& name = "") {
    if (!ops_.empty()) ops_ += ",\n";
    ops_ += "  {";
    if (!kind.empty()) ops_ += "\"op\": " + quoted(kind) + ", ";
    if (!name.empty()) ops_ += "\"name\": " + quoted(name) + ", ";
    if (!attributes.empty()) ops_ += "\"attributes\": " + attributes + ", ";
    ops_ += "\"inputs\": " + object(inputs) + ", \"outputs\": " + object(outputs) + "}";
    std::ofstream file(folder_ + "/manifest.json");
    file << "{\"parity_trace\": 1, \"ops\": [\n" << ops_ << "\n]}\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + folder_ + "/manifest.json");
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result + "\"";
  }
  static std::string object(const Ports& ports) {
    std::string result = "{";
    for (const auto& [port, file] : ports)
      result += (result.size() > 1 ? ", " : "") + quoted(port) + ": " + quoted(file);
    return result + "}";
  }

  std::string folder_, ops_;
};

}  // namespace parity_trace
