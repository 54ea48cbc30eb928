#pragma once
// Golden vectors of testdata/, for tests only.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "harness/tensor/poison.hpp"
#include "harness/tensor/safetensors.hpp"

namespace parity {

/// A file of tensors named "<case>/<port>".
class Vectors {
 public:
  explicit Vectors(const std::string& file) : path_(std::string(PARITY_TESTDATA) + "/" + file) {
    std::ifstream stream(path_, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const auto bytes = std::as_bytes(std::span<const char>(text));
    const auto header = parse_safetensors_header(bytes, path_);
    EXPECT_TRUE(header.has_value()) << (header ? "" : header.error().message);
    if (!header) return;
    for (const SafetensorsEntry& entry : *header) {
      names_.insert(entry.name);
      cases_.insert(entry.name.substr(0, entry.name.find('/')));
    }
  }
  const std::set<std::string>& cases() const { return cases_; }
  std::optional<Tensor> get(const std::string& case_name, const std::string& port) const {
    const std::string name = case_name + "/" + port;
    if (!names_.contains(name)) return std::nullopt;
    auto tensor = read_safetensors(path_, name);
    EXPECT_TRUE(tensor.has_value()) << (tensor ? "" : tensor.error().message);
    if (!tensor) return std::nullopt;
    return std::move(*tensor);
  }

 private:
  std::string path_;
  std::set<std::string> names_, cases_;
};

/// The tensor with gaps between its rows, filled with NaN.
inline Tensor strided(const Tensor& tensor, std::int64_t pad) {
  if (tensor.shape().size() < 2) return tensor;
  auto wide = Tensor::create(tensor.dtype(), tensor.shape(),
                             leading_strides(tensor.shape(), tensor.shape().back() + pad));
  EXPECT_TRUE(wide.has_value());
  poison_all(*wide, Poison::guard);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) wide->set_bits(i, tensor.bits(i));
  return std::move(*wide);
}

}  // namespace parity
