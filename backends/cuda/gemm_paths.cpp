// gemm and linear: our own tiles and tensor cores, and the vendor's library.

#include <fmt/format.h>

#include "backends/cuda/arithmetic_of_device.hpp"
#include "backends/cuda/cublas_call.hpp"
#include "backends/cuda/families.hpp"
#include "backends/cuda/gemm_steps.hpp"

namespace parity::cuda {

namespace {

struct GemmOp {
  const char* name;
  ReadProblem read;
};
constexpr GemmOp ops[] = {{"gemm", read_gemm}, {"linear", read_linear}};
constexpr GemmOp integer_op{"gemm", read_integer_gemm};

/// Further limits of a kernel, beyond what reading a problem checks.
using FitsProblem = Support (*)(const GemmProblem&);

Path path_of(const GemmOp& op, MakeGemmStep make, FitsProblem fits = nullptr) {
  Path path;
  path.implementation.op = op.name;
  path.fits = [op, fits](const OpCall& call, const Program& program) -> Support {
    const auto problem = op.read(call, program);
    if (!problem) return {Support::Kind::unsupported, problem.error().message};
    return fits != nullptr ? fits(*problem) : Support{};
  };
  path.make = [op, make](StepContext& context, const OpCall& call,
                         const Program& program) -> Result<std::unique_ptr<Step>> {
    const auto problem = op.read(call, program);
    if (!problem) return tl::unexpected(problem.error());
    return make(context, *problem);
  };
  return path;
}

Support needs_cublas(const DeviceTraits& traits, Support otherwise) {
  if (!otherwise.legal() || traits.cublas != nullptr) return otherwise;
  return {Support::Kind::unsupported, traits.no_cublas};
}

Path tiled_path(const DeviceTraits& traits, const GemmOp& op) {
  Path path = path_of(op, make_tiled_step);
  Implementation& i = path.implementation;
  i.path = "tiled_f32";
  i.summary =
      "shared-memory tiles of 128x128 or 64x64, 8x8 or 4x4 results a thread, one fma chain in k order";
  i.stores = {DType::f32, DType::f16, DType::bf16};
  i.knowledge = OrderKnowledge::declared;
  i.contract = tiled_model();
  i.replays = {i.contract};
  path.support = needs_capability(traits, 0, "tiled kernels");
  return path;
}

Path wmma_path(const DeviceTraits& traits, const GemmOp& op, DType input, DType accumulate) {
  const bool narrow = accumulate == DType::f16;
  Path path = path_of(op, narrow ? make_wmma_f16_step : make_wmma_step);
  Implementation& i = path.implementation;
  i.path = fmt::format("wmma_{}_{}", name_of(input), name_of(accumulate));
  i.summary =
      fmt::format("tensor cores by nvcuda::wmma 16x16x16, {} accumulator to scratch, conversion at the store",
                  narrow ? "fp16" : "fp32");
  i.input = input;
  i.accumulate = accumulate;
  i.stores = {input, DType::f32};
  i.multiply = format_of(input);
  const TensorCore core = narrow ? tensor_core_f16(traits) : tensor_core_of(traits, input);
  for (const MultiTermAdder& adder : core.adders) i.replays.push_back(wmma_model(input, accumulate, adder));
  i.contract = i.replays.front();
  // With an fp16 accumulator the kernel's first run says which adder it is.
  i.knowledge = core.certain || narrow ? OrderKnowledge::declared : OrderKnowledge::candidates;
  // Which adder it is is not settled: bounds that hold for each of them.
  if (!core.certain) i.contract = narrow ? f16_contract() : vendor_contract(input, format_of(input), true);
  path.support = input == DType::bf16 ? needs_capability(traits, 80, "bf16 tensor cores")
                                      : needs_capability(traits, 70, "fp16 tensor cores");
  return path;
}

struct VendorPath {
  const char* path;
  const char* summary;
  DType input;
  FloatFormat multiply;
  bool tensor_core;
  int capability;
  const char* what;
  MakeGemmStep make;
  DType accumulate = DType::f32;
};

Path vendor_path(const DeviceTraits& traits, const GemmOp& op, const VendorPath& vendor) {
  Path path = path_of(op, vendor.make, fits_cublas);
  Implementation& i = path.implementation;
  i.path = vendor.path;
  i.summary = vendor.summary;
  i.input = vendor.input;
  i.stores = {DType::f32};
  if (vendor.input != DType::f32) i.stores.insert(i.stores.begin(), vendor.input);
  i.multiply = vendor.multiply;
  i.knowledge = OrderKnowledge::candidates;
  const bool narrow = vendor.accumulate == DType::f16;
  i.accumulate = vendor.accumulate;
  i.contract = narrow ? f16_contract() : vendor_contract(vendor.input, vendor.multiply, vendor.tensor_core);
  TensorCore core = narrow ? tensor_core_f16(traits) : tensor_core_of(traits, vendor.input);
  // Rows that are not aligned go to kernels with half an instruction (seen on an H200).
  if (narrow && traits.major == 9) core.adders.push_back({8, 25, Rounding::nearest_even});
  // Alpha and beta in the library, with or without contraction; of an fp16 product they are our own
  // epilogue's.
  i.replays = vendor_candidates(i.contract, vendor.tensor_core ? core.adders : std::vector<MultiTermAdder>{},
                                op.read == read_gemm && !narrow);
  if (narrow) {
    // A library may add up in fp32 all the same and round once.
    ArithmeticModel wide = i.contract;
    wide.precision.accumulate = DType::f32;
    for (ArithmeticModel& model : vendor_candidates(wide, tensor_core_of(traits, vendor.input).adders, false))
      i.replays.push_back(std::move(model));
  }
  path.support = needs_cublas(traits, needs_capability(traits, vendor.capability, vendor.what));
  return path;
}

std::vector<VendorPath> vendor_paths() {
  return {
      {"cublas_f32", "cuBLAS, fp32 throughout (pedantic: no TF32)", DType::f32, format_of(DType::f32), false,
       0, "fp32 kernels", make_cublas_f32_step},
      {"cublas_tf32", "cuBLAS, fp32 inputs cut to TF32 before they are multiplied", DType::f32, tf32_format,
       true, 80, "TF32 tensor cores", make_cublas_tf32_step},
      {"cublas_f16_f32", "cuBLAS, fp16 inputs, fp32 accumulation and reduction", DType::f16,
       format_of(DType::f16), true, 70, "fp16 tensor cores", make_cublas_narrow_step},
      {"cublas_bf16_f32", "cuBLAS, bf16 inputs, fp32 accumulation and reduction", DType::bf16,
       format_of(DType::bf16), true, 80, "bf16 tensor cores", make_cublas_narrow_step},
      {"cublas_f16_f16", "cuBLAS, fp16 throughout", DType::f16, format_of(DType::f16), true, 70,
       "fp16 tensor cores", make_cublas_f16_step, DType::f16},
  };
}

Path integer_path(const char* name, const char* summary, MakeGemmStep make, FitsProblem fits = nullptr) {
  Path path = path_of(integer_op, make, fits);
  Implementation& i = path.implementation;
  i.path = name;
  i.summary = summary;
  i.contract = integer_model();
  i.input = i.contract.precision.input;
  i.accumulate = i.contract.precision.accumulate;
  i.stores = {i.contract.precision.store};
  i.multiply = i.contract.precision.multiply;
  // Exact in any order: so a vendor's bits are as well known as our own.
  i.knowledge = OrderKnowledge::declared;
  i.replays = {i.contract};
  return path;
}

std::vector<Path> integer_paths(const DeviceTraits& traits) {
  std::vector<Path> paths{
      integer_path("tiled_i8_i32", "shared-memory tiles of 64x64, dp4a, 32-bit sums that wrap",
                   make_tiled_i8_step),
      integer_path("wmma_i8_i32", "tensor cores by nvcuda::wmma 16x16x16 of int8, 32-bit sums that wrap",
                   make_wmma_i8_step),
      integer_path("cublas_i8_i32", "cuBLAS, int8 inputs, 32-bit integer sums", make_cublas_i8_step,
                   fits_cublas_i8),
  };
  paths[0].support = needs_capability(traits, 61, "byte dot products (dp4a)");
  paths[1].support = needs_capability(traits, 72, "int8 tensor cores");
  paths[2].support = needs_cublas(traits, needs_capability(traits, 61, "int8 kernels"));
  return paths;
}

}  // namespace

std::vector<Path> gemm_paths(const DeviceTraits& traits) {
  std::vector<Path> paths;
  for (const GemmOp& op : ops) {
    paths.push_back(tiled_path(traits, op));
    paths.push_back(wmma_path(traits, op, DType::f16, DType::f32));
    paths.push_back(wmma_path(traits, op, DType::bf16, DType::f32));
    paths.push_back(wmma_path(traits, op, DType::f16, DType::f16));
    for (const VendorPath& vendor : vendor_paths()) {
      paths.push_back(vendor_path(traits, op, vendor));
      if (vendor.multiply == tf32_format && paths.back().support.legal() && traits.tf32_disabled) {
        paths.back().support = {
            Support::Kind::unsupported,
            "NVIDIA_TF32_OVERRIDE=0 in the environment makes cuBLAS use fp32 instead: unset it"};
      }
    }
  }
  for (Path& path : integer_paths(traits)) paths.push_back(std::move(path));
  return paths;
}

}  // namespace parity::cuda
