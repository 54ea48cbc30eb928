#include "backends/cuda/kernel_paths.hpp"

#include <fmt/format.h>

#include "backends/cuda/cuda_error.hpp"

namespace parity::cuda {

namespace {

class PreparedStep final : public Step {
 public:
  PreparedStep(PreparedCall call, std::string doing) : call_(std::move(call)), doing_(std::move(doing)) {}
  Result<void> launch(cudaStream_t stream) override { return check(call_.launch(stream), doing_); }

 private:
  PreparedCall call_;
  std::string doing_;
};

Path path_of(const DeviceTraits& traits, const KernelPath& row) {
  Path path;
  Implementation& i = path.implementation;
  i.path = row.path;
  i.op = row.op;
  i.summary = row.summary;
  i.factors = row.factors;
  i.input = row.input;
  i.stores = row.stores;
  i.multiply = format_of(row.input);
  i.contract = row.model();
  i.contract.precision.input = row.input;
  i.contract.precision.multiply = i.multiply;
  if (row.input == DType::i32) {
    // trace_scan, of the results of programs that add in int32. It adds nothing itself: there is no order.
    i.accumulate = DType::i32;
    i.contract.accumulation.reset();
  }
  if (i.contract.accumulation) {
    i.knowledge = OrderKnowledge::declared;
    i.replays = {i.contract};
  }
  path.support = needs_capability(traits, 0, "kernels");
  path.fits = [read = row.read](const OpCall& call, const Program& program) -> Support {
    CallReader reader(call, program);
    const auto prepared = read(reader);
    return prepared ? Support{} : Support{Support::Kind::unsupported, prepared.error().message};
  };
  path.make = [read = row.read, doing = fmt::format("launching {} of {}", row.path, row.op)](
                  StepContext& context, const OpCall& call,
                  const Program& program) -> Result<std::unique_ptr<Step>> {
    CallReader reader(call, program, &context);
    auto prepared = read(reader);
    if (!prepared) return tl::unexpected(prepared.error());
    return std::make_unique<PreparedStep>(*std::move(prepared), doing);
  };
  return path;
}

}  // namespace

std::vector<Path> paths_of(const DeviceTraits& traits, std::span<const KernelPath> table) {
  std::vector<Path> paths;
  for (const KernelPath& row : table) paths.push_back(path_of(traits, row));
  return paths;
}

}  // namespace parity::cuda
