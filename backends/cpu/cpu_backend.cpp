#include "backends/cpu/cpu_backend.hpp"

#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "harness/ladder/device_function.hpp"

namespace parity {

namespace {

/// One emulated arithmetic, offered under a path name.
struct EmulatedPath {
  std::string path, summary;
  DType input, accumulate;
  std::vector<DType> stores;
  Accumulation accumulation;
};

std::vector<EmulatedPath> emulated_paths() {
  using Kind = SummationOrder::Kind;
  const auto chain = [](Kind kind, std::int64_t width = 0) {
    return Accumulation{{kind, width, 0}, MultiplyAdd::fused, {}};
  };
  const Accumulation hopper{{Kind::sequential, 0, 0}, MultiplyAdd::multi_term, {16, 25}};
  Accumulation hopper_f16 = hopper;
  hopper_f16.adder.rounding = Rounding::nearest_even;
  const std::vector<DType> f32{DType::f32}, f16{DType::f16, DType::f32}, bf16{DType::bf16, DType::f32};
  return {
      {"sequential_f64", "one fp64 fma chain", DType::f64, DType::f64, {DType::f64}, chain(Kind::sequential)},
      {"sequential_f32", "one fp32 fma chain", DType::f32, DType::f32, f32, chain(Kind::sequential)},
      {"pairwise_f32", "a balanced tree", DType::f32, DType::f32, f32, chain(Kind::pairwise)},
      {"blocked_f32", "chains of 32, added in sequence", DType::f32, DType::f32, f32,
       chain(Kind::blocked, 32)},
      {"split_k_f32", "4 contiguous parts", DType::f32, DType::f32, f32, chain(Kind::split_k, 4)},
      {"strided_f32", "8 interleaved lanes, as SIMD", DType::f32, DType::f32, f32, chain(Kind::strided, 8)},
      {"sequential_f16_f32", "one fp32 fma chain over fp16", DType::f16, DType::f32, f16,
       chain(Kind::sequential)},
      {"sequential_bf16_f32", "one fp32 fma chain over bf16", DType::bf16, DType::f32, bf16,
       chain(Kind::sequential)},
      {"tensor_core_f16_f32", "a Hopper tensor core: 16+1 terms, 25 bits, truncated", DType::f16, DType::f32,
       f16, hopper},
      {"tensor_core_bf16_f32", "the same over bf16", DType::bf16, DType::f32, bf16, hopper},
      {"sequential_f16_f16", "one fp16 fma chain", DType::f16, DType::f16, f16, chain(Kind::sequential)},
      {"tensor_core_f16_f16",
       "a Hopper tensor core with an fp16 accumulator: 16+1 terms, 25 bits, to nearest", DType::f16,
       DType::f16, f16, hopper_f16},
  };
}

HostPath make_path(const OpTable& ops, const std::string& op, const EmulatedPath& emulated) {
  Implementation implementation;
  implementation.path = emulated.path;
  implementation.op = op;
  implementation.summary = "emulated on the CPU: " + emulated.summary;
  implementation.input = emulated.input;
  implementation.accumulate = emulated.accumulate;
  implementation.stores = emulated.stores;
  implementation.multiply = format_of(emulated.input);
  implementation.knowledge = OrderKnowledge::declared;
  ArithmeticModel& model = implementation.contract;
  // What follows a sum in fp16 is computed in fp32.
  const DType scratch = emulated.accumulate == DType::f64 ? DType::f64 : DType::f32;
  model.precision = {emulated.input, format_of(emulated.input), emulated.accumulate, scratch,
                     emulated.stores.front()};
  model.accumulation = emulated.accumulation;
  // The emulated arithmetic takes exp and tanh from the C library, which are within 1 ULP of fp64 before they
  // are rounded to fp32: half an ULP and a little.
  const double ulp = emulated.accumulate == DType::f64 ? 2 : 1;
  model.exp = model.tanh = model.sigmoid = model.log = model.inverse_sqrt = {ulp, 0, 0};
  implementation.replays = {model};
  return {implementation, emulated_kernel(ops, model)};
}

/// The path in arithmetic that is exact modulo 2^32.
HostPath of_integers(const OpTable& ops, HostPath path) {
  path.implementation.contract = integer_model();
  path.implementation.replays = {integer_model()};
  path.kernel = emulated_kernel(ops, integer_model());
  return path;
}

HostPath integer_product_path(const OpTable& ops) {
  return of_integers(ops, make_path(ops, "gemm",
                                    {"exact_i8_i32",
                                     "int8 products in int32 that wraps around",
                                     DType::i8,
                                     DType::i32,
                                     {DType::i32},
                                     {}}));
}

/// Ops without a product of narrow factors: every port in the accumulate format.
std::vector<HostPath> plain_paths(const OpTable& ops, const std::string& op) {
  std::vector<HostPath> paths;
  for (const EmulatedPath& emulated : emulated_paths()) {
    if (emulated.input != emulated.accumulate || emulated.accumulate == DType::f16) continue;
    paths.push_back(make_path(ops, op, emulated));
    paths.back().implementation.factors = 0;
  }
  return paths;
}

/// One path for each format that is converted from, to any other of programs in fp32 and of those in fp64.
std::vector<HostPath> cast_paths(const OpTable& ops) {
  using enum DType;
  const std::string nearest = "rounded to nearest even";
  const std::vector<DType> narrow{f32, f16, bf16}, all{f64, f32, f16, bf16};
  std::vector<HostPath> paths;
  for (const EmulatedPath& emulated : {EmulatedPath{"from_f32", nearest, f32, f32, narrow, {}},
                                       EmulatedPath{"from_f16", nearest, f16, f32, narrow, {}},
                                       EmulatedPath{"from_bf16", nearest, bf16, f32, narrow, {}},
                                       EmulatedPath{"from_f64", nearest, f64, f64, all, {}},
                                       EmulatedPath{"from_f32_f64", "widened", f32, f64, {f64}, {}}}) {
    paths.push_back(make_path(ops, "cast", emulated));
    paths.back().implementation.factors = 1;
  }
  return paths;
}

/// What `parity probe` asks about.
HostPath function_path(const OpTable& ops) {
  HostPath path = make_path(
      ops, std::string(device_function_op),
      {"direct_f32", "one function of parity probe an element", DType::f32, DType::f32, {DType::f32}, {}});
  path.implementation.factors = 0;
  path.kernel = device_function_kernel(path.implementation.contract);
  return path;
}

/// One path for each format that is looked at, in programs of fp32 and of fp64.
std::vector<HostPath> scan_paths(const OpTable& ops) {
  using enum DType;
  std::vector<HostPath> paths;
  for (const EmulatedPath& emulated : {EmulatedPath{"from_f32", "bits", f32, f32, {i32}, {}},
                                       EmulatedPath{"from_f16", "bits", f16, f32, {i32}, {}},
                                       EmulatedPath{"from_bf16", "bits", bf16, f32, {i32}, {}},
                                       EmulatedPath{"from_f64", "bits", f64, f64, {i32}, {}},
                                       EmulatedPath{"from_f32_f64", "bits", f32, f64, {i32}, {}}}) {
    paths.push_back(make_path(ops, "trace_scan", emulated));
    paths.back().implementation.factors = 1;
  }
  paths.push_back(of_integers(ops, make_path(ops, "trace_scan", {"from_i32", "bits", i32, i32, {i32}, {}})));
  paths.back().implementation.factors = 1;
  return paths;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const OpTable& ops) : ops_(ops) {}
  std::string_view name() const override { return "cpu"; }

  Result<std::vector<std::unique_ptr<Device>>> devices() override {
    std::vector<HostPath> paths;
    const auto append = [&](std::vector<HostPath> more) {
      for (HostPath& path : more) paths.push_back(std::move(path));
    };
    for (const char* op : {"gemm", "linear"})
      for (const EmulatedPath& emulated : emulated_paths()) paths.push_back(make_path(ops_, op, emulated));
    paths.push_back(integer_product_path(ops_));
    for (const auto& op : ops_.all()) {
      if (op->name() == "gemm" || op->name() == "linear") continue;
      append(op->name() == "cast"         ? cast_paths(ops_)
             : op->name() == "trace_scan" ? scan_paths(ops_)
                                          : plain_paths(ops_, std::string(op->name())));
    }
    paths.push_back(function_path(ops_));
    DeviceInfo info{"cpu:0", "cpu", "emulated arithmetic", "built in", "host", {}};
    info.facts = {{"host", "processor", processor_name()},
                  {"host", "threads", fmt::format("{}", std::thread::hardware_concurrency())},
                  {"numerics", "subnormals", "kept"},
                  {"numerics", "contraction", "as each path declares"}};
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(make_host_device(std::move(info), std::move(paths)));
    return devices;
  }

 private:
  const OpTable& ops_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const OpTable& ops) {
  return std::make_unique<CpuBackend>(ops);
}

}  // namespace parity
