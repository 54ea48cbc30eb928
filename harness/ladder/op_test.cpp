#include "harness/ladder/op.hpp"

#include <gtest/gtest.h>

#include <array>

namespace parity {
namespace {

/// y = x, elementwise.
class Copy final : public Op {
 public:
  std::string_view name() const override { return "copy"; }
  std::string_view summary() const override { return "y = x"; }
  std::span<const Port> inputs() const override { return ports_in_; }
  std::span<const Port> outputs() const override { return ports_out_; }
  Result<std::vector<Shape>> infer(const Attributes&,
                                   std::span<const std::optional<Shape>> in) const override {
    return std::vector<Shape>{*in[0]};
  }
  Result<std::vector<Value>> evaluate(Arithmetic& a, const Attributes&,
                                      const PortTensors& in) const override {
    std::vector<Value> out;
    out.push_back(a.load(*in[0]));
    return out;
  }
  Work work(const OpCall&, const Program&) const override { return {}; }
  std::int64_t reduction_length(const OpCall&, const Program&) const override { return 1; }

 private:
  std::array<Port, 1> ports_in_{{{"x", false}}};
  std::array<Port, 1> ports_out_{{{"y", false}}};
};

class Programs : public ::testing::Test {
 protected:
  OpTable ops = [] {
    std::vector<std::unique_ptr<const Op>> list;
    list.push_back(std::make_unique<Copy>());
    return OpTable(std::move(list));
  }();
  using Role = TensorSpec::Role;
  Program chain{{{"x", DType::f32, {2, 3}, {3, 1}, Role::input},
                 {"h", DType::f32, {2, 3}, {3, 1}, Role::intermediate},
                 {"y", DType::f32, {2, 3}, {3, 1}, Role::output}},
                {{"copy", {}, {0}, {1}}, {"copy", {}, {1}, {2}}},
                {}};
  std::string error() {
    const auto ok = check_program(ops, chain);
    return ok ? "none" : ok.error().message;
  }
};

TEST_F(Programs, AChainOfCallsIsFine) {
  EXPECT_EQ(error(), "none");
}

TEST_F(Programs, ReadingBeforeWritingIsAnError) {
  std::swap(chain.calls[0], chain.calls[1]);
  EXPECT_NE(error().find("'h' is read before anything writes it"), std::string::npos) << error();
}

TEST_F(Programs, UnknownOpsPortsShapesAndIdsAreErrors) {
  const Program healthy = chain;
  chain.calls[0].op = "copi";
  EXPECT_NE(error().find("no op is called 'copi'"), std::string::npos) << error();
  chain = healthy;
  chain.calls[0].inputs = {0, 0};
  EXPECT_NE(error().find("2 inputs given, it has 1"), std::string::npos) << error();
  chain = healthy;
  chain.calls[0].inputs = {no_tensor};
  EXPECT_NE(error().find("input 'x' is missing"), std::string::npos) << error();
  chain = healthy;
  chain.calls[0].inputs = {17};
  EXPECT_NE(error().find("names tensor 17"), std::string::npos) << error();
  chain = healthy;
  chain.tensors[2].shape = {3, 2};
  EXPECT_NE(error().find("output 'y' has shape [3, 2], the inputs give [2, 3]"), std::string::npos)
      << error();
  chain = healthy;
  chain.calls[1].outputs = {0};
  EXPECT_NE(error().find("writes the input tensor 'x'"), std::string::npos) << error();
}

}  // namespace
}  // namespace parity
