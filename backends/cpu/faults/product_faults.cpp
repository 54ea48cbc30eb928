// Faults of products (rung 1), each with a case that shows it.
#include <algorithm>
#include <cstring>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::planted {
namespace {

/// A healthy kernel, then something is done to the memory.
MakeKernel and_then(std::function<void(const OpCall&, const Program&, HostMemory&)> spoil) {
  return [spoil = std::move(spoil)](const OpTable& ops, const ArithmeticModel& model) {
    return HostKernel([spoil, healthy = emulated_kernel(ops, model)](
                          const OpCall& call, const Program& program, HostMemory& memory) -> Result<void> {
      if (auto ok = healthy(call, program, memory); !ok) return ok;
      spoil(call, program, memory);
      return {};
    });
  };
}

/// The number that `size` bytes at `at` stand for; outside a tensor's elements it is what lies there.
double number_at(DType dtype, std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + at, size_of(dtype));
  return decode(dtype, bits);
}

/// Row 5 of the result takes one more term: the first pad behind row 5 of A.
void add_pad(const OpCall& call, const Program& program, HostMemory& memory) {
  const TensorSpec& a = program.spec(call.inputs[0]);
  Tensor result = *memory.tensor(call.outputs[0]);
  const Index rows = a.shape[0], terms = a.shape[1], cols = result.shape()[1],
              row = std::min<Index>(5, rows - 1);
  const auto place = static_cast<std::size_t>(row * a.strides[0] + terms) * size_of(a.dtype);
  if (row < 0 || place + size_of(a.dtype) > memory.payload(call.inputs[0]).size()) return;
  const double pad = number_at(a.dtype, memory.payload(call.inputs[0]), place);
  for (Index j = 0; j < cols; ++j) result.set_value(row * cols + j, result.value(row * cols + j) + pad);
  (void)memory.assign(call.outputs[0], result);
}

/// The kernel walks whole rows of the result's buffer, pads or guard behind its last element included.
void write_past_end(const OpCall& call, const Program&, HostMemory& memory) {
  const std::span<std::byte> bytes = memory.payload(call.outputs[0]);
  std::memset(bytes.data() + bytes.size(), 0x3c, 2);
}

/// Sums of 32 terms in fp16, these added in fp32.
Replacements fp16_chunks() {
  Replacements r;
  r.matmul = [](Arithmetic& device, const Value& a, bool ta, const Value& b, bool tb) {
    const Value left = ta ? transpose(a) : a, right = tb ? transpose(b) : b;
    Value sum;
    const Replacements narrow = sums_in(DType::f16);
    for (Index from = 0; from < left.cols; from += 32) {
      const Index count = std::min<Index>(32, left.cols - from);
      const Value part = narrow.matmul(device, take_cols(left, from, count), false,
                                       transpose(take_cols(transpose(right), from, count)), false);
      sum = from == 0 ? part : device.add(sum, part);
    }
    return sum;
  };
  return r;
}

/// The last term of every sum left out.
Replacements last_term_lost() {
  Replacements r;
  r.matmul = [](Arithmetic& device, const Value& a, bool ta, const Value& b, bool tb) {
    const Value left = ta ? transpose(a) : a, right = tb ? transpose(b) : b;
    const Index kept = std::max<Index>(0, left.cols - 1);
    return device.matmul(take_cols(left, 0, kept), false, transpose(take_cols(transpose(right), 0, kept)),
                         false);
  };
  return r;
}

/// A product of integers, two terms at a time: `product` of two factors, `add(sum, p, q)` of two products.
template <class Product, class Add>
Replacements integer_sums(Product product, Add add) {
  Replacements r;
  r.matmul = [product, add](Arithmetic&, const Value& a, bool ta, const Value& b, bool tb) {
    const Value left = ta ? transpose(a) : a, right = tb ? transpose(b) : b;
    Value out = make_value(1, left.rows, right.cols);
    for (Index i = 0; i < out.size(); ++i) {
      const Index row = i / out.cols, col = i % out.cols;
      const auto term = [&](Index k) {
        return k >= left.cols ? 0
                              : product(left.v[static_cast<std::size_t>(row * left.cols + k)],
                                        right.v[static_cast<std::size_t>(k * right.cols + col)]);
      };
      double sum = 0;
      for (Index k = 0; k < left.cols; k += 2) sum = add(sum, term(k), term(k + 1));
      out.v[static_cast<std::size_t>(i)] = wrapped_i32(sum);
    }
    return out;
  };
  return r;
}

double plain_product(double a, double b) {
  return a * b;
}
double plain_sum(double sum, double p, double q) {
  return sum + p + q;
}
/// The first factor is read as a number from 0 to 255.
double unsigned_product(double a, double b) {
  return (a < 0 ? a + 256 : a) * b;
}
/// The accumulator stops at the ends of int32.
double saturating_sum(double sum, double p, double q) {
  const auto cut = [](double x) { return std::clamp(x, -2147483648.0, 2147483647.0); };
  return cut(cut(sum + p) + q);
}
/// Two products are added in 16 bits that stop at their ends, as some instructions do.
double paired_sum(double sum, double p, double q) {
  return sum + std::clamp(p + q, -32768.0, 32767.0);
}
/// fp32 holds no odd number beyond 2^24.
double fp32_sum(double sum, double p, double q) {
  return static_cast<double>(static_cast<float>(sum + p + q));
}

}  // namespace

std::vector<Fault> product_faults() {
  const std::string differ = "elements differ from the exact result";
  const std::string long_sums = "gemm m=2 n=2 k=180224 in=i8 fill=overflow";
  const std::string bound = "beyond the hard bound", k588 = "gemm m=33 n=17 k=588 in=f16";
  return {
      {"gemm-fp16-accumulation", "gemm", evaluated(with(sums_in(DType::f16))), k588, "D", bound},
      {"gemm-bf16-accumulation", "gemm", evaluated(with(sums_in(DType::bf16))),
       "gemm m=33 n=17 k=588 in=bf16", "D", bound},
      {"gemm-fp16-chunks", "gemm", evaluated(with(fp16_chunks())), k588, "D", bound},
      {"gemm-last-term-lost", "gemm", evaluated(with(last_term_lost())), k588, "D", bound},
      {"gemm-reads-pad", "gemm", and_then(add_pad), "gemm m=33 n=47 k=65 pad_a=3 pad_b=5 pad_d=7 in=f16", "D",
       "NaN or infinite"},
      {"gemm-writes-past-end", "gemm", and_then(write_past_end), "gemm m=33 n=17 k=63 in=f16", "D",
       "overwritten outside its elements"},
      {"integers-saturate", "gemm", evaluated(with(integer_sums(plain_product, saturating_sum))), long_sums,
       "D", differ},
      {"integers-read-unsigned", "gemm", evaluated(with(integer_sums(unsigned_product, plain_sum))),
       "gemm m=33 n=47 k=65 in=i8", "D", differ},
      {"integers-paired", "gemm", evaluated(with(integer_sums(plain_product, paired_sum))),
       "gemm m=33 n=47 k=65 in=i8 fill=saturated", "D", differ},
      {"integers-added-in-fp32", "gemm", evaluated(with(integer_sums(plain_product, fp32_sum))), long_sums,
       "D", differ},
      {"integers-last-term-lost", "gemm", evaluated(with(last_term_lost())), "gemm m=33 n=47 k=65 in=i8", "D",
       differ},
  };
}

std::vector<Fault> all_faults() {
  std::vector<Fault> all;
  for (auto family :
       {product_faults, recurrent_faults, norm_faults, attention_faults, loss_faults, optimizer_faults})
    for (Fault& fault : family()) all.push_back(std::move(fault));
  return all;
}

}  // namespace parity::planted
