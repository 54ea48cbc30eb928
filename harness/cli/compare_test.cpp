// Real input: `parity run --input` and `parity compare`, on small files whose contents are known.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/cli_testing.hpp"
#include "harness/tensor/npy.hpp"
#include "harness/tensor/safetensors.hpp"

namespace parity {
namespace {

/// Element i is a number that no short format holds exactly.
Tensor numbers(DType dtype, Shape shape, double phase) {
  Tensor tensor = *Tensor::create(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.set_value(i, std::sin(phase + 1.7 * static_cast<double>(i)));
  return tensor;
}

/// A: 6 x 40, B: 40 x 5, and their product in fp64 and as fp32.
class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    a_ = numbers(DType::f32, {6, 40}, 0.3);
    b_ = numbers(DType::f32, {40, 5}, 1.1);
    want_ = *Tensor::create(DType::f64, {6, 5});
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < 40; ++k) sum += a_.value(i * 40 + k) * b_.value(k * 5 + j);
        want_.set_value(i * 5 + j, sum);
      }
    got_ = *Tensor::create(DType::f32, {6, 5});
    for (std::int64_t i = 0; i < 30; ++i) got_.set_value(i, want_.value(i));
    save("a.npy", a_);
    save("b.npy", b_);
    save("want.npy", want_);
    save("got.npy", got_);
  }
  void save(const std::string& name, const Tensor& tensor) {
    ASSERT_TRUE(write_npy(scratch_.file(name), tensor));
  }
  std::string file(const std::string& name) const { return scratch_.file(name); }
  Words with_inputs(Words words) const {
    for (const std::string& word :
         {std::string("--input"), "A=" + file("a.npy"), std::string("--input"), "B=" + file("b.npy")})
      words.push_back(word);
    return words;
  }

  ScratchDirectory scratch_;
  Tensor a_, b_, want_, got_;
};

TEST_F(CompareTest, RunTakesDimensionsAndDtypeFromTheFiles) {
  const ProgramRun run =
      parity(with_inputs({"run", "gemm", "--device", "cpu", "--path", "pairwise_f32", "--json"}));
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_TRUE(json["case"].get<std::string>().starts_with("gemm m=6 n=5 k=40 in=f32")) << json["case"];
  expect_holds(json["repro"], "--input A=" + file("a.npy"));
  expect_holds(json["provenance"]["inputs"]["B"], "b.npy #");
}

TEST_F(CompareTest, RunConvertsOnlyWhenTheCaseAsksAndSaysSo) {
  const ProgramRun run = parity(
      with_inputs({"run", "--device", "cpu", "--case", "gemm in=f16", "--path", "sequential_f16_f32"}));
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  expect_holds(run.err, "input A is f32 in its file and is rounded to f16");
}

TEST_F(CompareTest, ConversionsThatOverflowAreSaid) {
  a_.set_value(3, 1e5);
  save("a.npy", a_);
  const ProgramRun run = parity(
      with_inputs({"run", "--device", "cpu", "--case", "gemm in=f16", "--path", "sequential_f16_f32"}));
  expect_holds(run.err, "input A: 1 of 240 elements are too large for f16");
}

TEST_F(CompareTest, RunReadsSafetensors) {
  std::map<std::string, Tensor> tensors;
  tensors.emplace("mlp.up.weight", numbers(DType::bf16, {7, 12}, 2));
  tensors.emplace("x", numbers(DType::bf16, {3, 12}, 5));
  ASSERT_TRUE(write_safetensors(file("model.safetensors"), tensors));
  const std::string model = file("model.safetensors");
  const ProgramRun run =
      parity({"run", "linear", "--device", "cpu", "--path", "sequential_bf16_f32", "--json", "--input",
              "W=" + model + ":mlp.up.weight", "--input", "X=" + model + ":x"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(nlohmann::json::parse(run.out)["case"].get<std::string>().starts_with("linear m=3 n=7 k=12"));
  const ProgramRun unknown =
      parity({"run", "linear", "--device", "cpu", "--input", "W=" + model + ":mlp.up.weigth"});
  EXPECT_EQ(unknown.code, 2);
  expect_holds(unknown.err, "mlp.up.weight");
}

TEST_F(CompareTest, WrongInputsAreErrorsWithTheirNames) {
  const auto error = [](const Words& words, const char* part) {
    const ProgramRun run = parity(words);
    EXPECT_EQ(run.code, 2) << run.out << run.err;
    expect_holds(run.err, part);
  };
  error(with_inputs({"run", "--device", "cpu", "--case", "gemm m=7"}), "m=7");
  error(with_inputs({"run", "--device", "cpu", "--case", "gemm tb=t"}), "k of B");
  error({"run", "gemm", "--device", "cpu", "--input", "A=" + file("a.npy")}, "n=");
  error({"run", "gemm", "--device", "cpu", "--input", "Q=" + file("a.npy")}, "'Q'");
  error(with_inputs({"run", "--device", "cpu"}), "rung");

  std::ofstream(file("cut.npy"), std::ios::binary) << "\x93NUMPY\x01";
  error({"run", "gemm", "--device", "cpu", "--input", "A=" + file("cut.npy")}, "cut.npy");
  std::ofstream(file("lying.safetensors"), std::ios::binary)
      << std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
  error({"run", "gemm", "--device", "cpu", "--input", "A=" + file("lying.safetensors") + ":x"},
        "lying.safetensors");
  error({"compare", file("cut.npy"), file("want.npy"), "--op", "identity"}, "cut.npy");
}

TEST_F(CompareTest, ANanInTheInputIsAnErrorOrAStatedChoice) {
  a_.set_value(43, std::nan(""));
  save("a.npy", a_);
  const ProgramRun rejected =
      parity(with_inputs({"run", "gemm", "--device", "cpu", "--path", "sequential_f32"}));
  EXPECT_EQ(rejected.code, 2);
  expect_holds(rejected.err, "NaN at [1, 3]");
  const ProgramRun allowed =
      parity(with_inputs({"run", "gemm", "--device", "cpu", "--path", "sequential_f32", "--nan", "allow"}));
  EXPECT_EQ(allowed.code, 0) << allowed.out << allowed.err;
  // The repro line asks for the same thing.
  const ProgramRun json = parity(with_inputs(
      {"run", "gemm", "--device", "cpu", "--path", "sequential_f32", "--nan", "allow", "--json"}));
  expect_holds(nlohmann::json::parse(json.out).at("repro").get<std::string>(), " --nan allow");
}

TEST_F(CompareTest, WithInputsTheFullContractDecides) {
  const ProgramRun good = parity(with_inputs({"compare", file("got.npy"), file("want.npy"), "--op", "gemm"}));
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  expect_holds(good.out, "cos_sim");
  expect_holds(good.out, "WANT itself, against the reference: pass");

  got_.set_value(7, got_.value(7) * 1.01);
  save("got.npy", got_);
  const ProgramRun bad = parity(with_inputs({"compare", file("got.npy"), "--op", "gemm"}));
  EXPECT_EQ(bad.code, 1) << bad.out << bad.err;
  expect_holds(bad.out, "[1, 2]");
}

TEST_F(CompareTest, AClaimedModelMustGiveTheBits) {
  Tensor chain = *Tensor::create(DType::f32, {6, 5});
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < 40; ++k)
        sum =
            std::fma(static_cast<float>(a_.value(i * 40 + k)), static_cast<float>(b_.value(k * 5 + j)), sum);
      chain.set_value(i * 5 + j, sum);
    }
  save("chain.npy", chain);
  EXPECT_EQ(parity(with_inputs({"compare", file("chain.npy"), "--op", "gemm", "--model", "fma"})).code, 0);
  // One unit in the last place is inside every bound, but not the bits of a chain of fma.
  chain.set_bits(3, chain.bits(3) + 1);
  save("chain.npy", chain);
  EXPECT_EQ(parity(with_inputs({"compare", file("chain.npy"), "--op", "gemm"})).code, 0);
  EXPECT_EQ(parity(with_inputs({"compare", file("chain.npy"), "--op", "gemm", "--model", "fma"})).code, 1);
}

TEST_F(CompareTest, WithAProductBoundAWiderContractDecides) {
  const Words words = {
      "compare", file("got.npy"), file("want.npy"), "--op", "gemm", "--k", "40", "--max-product", "1"};
  EXPECT_EQ(parity(words).code, 0);
  got_.set_value(7, got_.value(7) + 0.01);
  save("got.npy", got_);
  EXPECT_EQ(parity(words).code, 1);
}

TEST_F(CompareTest, WantAloneProvesNothingButANanIsAFault) {
  const Words words = {"compare", file("got.npy"), file("want.npy"), "--op", "gemm"};
  const ProgramRun nothing = parity(words);
  EXPECT_EQ(nothing.code, 4) << nothing.out << nothing.err;
  expect_holds(nothing.out, "untrusted");
  expect_holds(nothing.out, "ulp");
  got_.set_value(7, std::nan(""));
  save("got.npy", got_);
  EXPECT_EQ(parity(words).code, 1);
}

TEST_F(CompareTest, IdentityWantsTheBits) {
  const Words words = {"compare", file("got.npy"), file("want.npy"), "--op", "identity"};
  EXPECT_EQ(parity(words).code, 0);
  got_.set_bits(7, got_.bits(7) ^ 1);
  save("got.npy", got_);
  EXPECT_EQ(parity(words).code, 1);
}

TEST_F(CompareTest, ProductsOfInt8AreExactAndWrapAround) {
  constexpr std::int64_t k = 140000;
  Tensor a = *Tensor::create(DType::i8, {2, k}), b = *Tensor::create(DType::i8, {k, 2});
  for (std::int64_t i = 0; i < 2 * k; ++i) a.set_value(i, i < k ? 127 : 2), b.set_value(i, 127);
  Tensor d = *Tensor::create(DType::i32, {2, 2});
  const double wide = 127.0 * 127 * k - 0x1p32, small = 127.0 * 2 * k;
  for (std::int64_t i = 0; i < 4; ++i) d.set_value(i, i < 2 ? wide : small);
  save("a.npy", a);
  save("b.npy", b);
  save("d.npy", d);
  const Words words = with_inputs({"compare", file("d.npy"), "--op", "gemm"});
  ProgramRun run = parity(words);
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  expect_holds(run.out, "modulo 2^32");

  Words fused = words;
  fused.insert(fused.end(), {"--model", "fma"});
  run = parity(fused);
  EXPECT_EQ(run.code, 2);
  expect_holds(run.err, "sums of integers are the same in any order");

  d.set_value(1, wide + 1);
  save("d.npy", d);
  run = parity(words);
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  expect_holds(run.out, "1 of 4 elements differ");
}

TEST_F(CompareTest, ConversionsAreSaid) {
  std::vector<std::string> words = with_inputs({"compare", file("got.npy"), "--op", "gemm", "--in", "f16"});
  const ProgramRun run = parity(words);
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  expect_holds(run.err, "input A is f32 in its file and is rounded to f16");
}

TEST_F(CompareTest, TrivialTensorsProveNothing) {
  // Nothing but zeros, nothing but NaN, nothing at all: right, and no proof.
  for (const double value : {0.0, std::nan("")}) {
    for (std::int64_t i = 0; i < a_.elements(); ++i) a_.set_value(i, value);
    for (std::int64_t i = 0; i < got_.elements(); ++i) got_.set_value(i, value);
    save("a.npy", a_);
    save("got.npy", got_);
    const ProgramRun compared =
        parity(with_inputs({"compare", file("got.npy"), "--op", "gemm", "--nan", "allow"}));
    EXPECT_EQ(compared.code, 4) << compared.out << compared.err;
    expect_holds(compared.out, "prove nothing");
    const ProgramRun run =
        parity(with_inputs({"run", "gemm", "--device", "cpu", "--path", "sequential_f32", "--nan", "allow"}));
    EXPECT_EQ(run.code, 4) << run.out << run.err;
    expect_holds(run.out, "prove nothing");
  }
  save("empty.npy", numbers(DType::f32, {0, 5}, 0));
  const ProgramRun empty = parity({"compare", file("empty.npy"), file("empty.npy"), "--op", "identity"});
  EXPECT_EQ(empty.code, 4) << empty.out << empty.err;
  expect_holds(empty.out, "no elements");
}

TEST_F(CompareTest, ALongChainInAShortFormatKeepsAPositiveBound) {
  // K u = 40: gamma_K has no value, and the bound is wide.
  const ProgramRun run = parity({"compare", file("got.npy"), file("want.npy"), "--op", "gemm", "--k", "10240",
                                 "--max-product", "1", "--acc", "bf16"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

TEST_F(CompareTest, ShapesMustAgree) {
  save("row.npy", numbers(DType::f32, {5, 6}, 0));
  for (const Words& words : {Words{"compare", file("row.npy"), file("want.npy"), "--op", "identity"},
                             with_inputs({"compare", file("row.npy"), "--op", "gemm"})}) {
    const ProgramRun run = parity(words);
    EXPECT_EQ(run.code, 2);
    expect_holds(run.err, "[5, 6]");
  }
}

}  // namespace
}  // namespace parity
