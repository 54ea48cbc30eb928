#pragma once
#include <memory>
#include <string>

#include "harness/cli/backend_loader.hpp"

namespace parity::cli {

/// Devices like the healthy ones whose kernels have one fault of the catalogue.
class FaultyDevices {
 public:
  FaultyDevices(const OpTable& ops, BackendOptions options, std::filesystem::path directory)
      : ops_(ops), options_(std::move(options)), directory_(std::move(directory)) {}

  /// The device that stands for `healthy` with the fault planted; valid until the next call. An error of kind
  /// unsupported says why there is none.
  Result<Device*> with(const std::string& fault, const Device& healthy);

 private:
  const OpTable& ops_;
  BackendOptions options_;
  std::filesystem::path directory_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace parity::cli
