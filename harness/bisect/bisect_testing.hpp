#pragma once
// The emulated device with kernels that go wrong.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/bisect/against.hpp"
#include "references/op_table.hpp"

namespace parity::bisecting {

/// What a faulty kernel does to the healthy results of a call.
using Spoil = std::function<void(const OpCall&, const Program&, HostMemory&)>;

/// The CPU device with the kernels of one op spoilt, for calls whose first output is named `output` (empty:
/// all of them).
class Bench {
 public:
  Bench() : ops_(make_op_table()), stages_(make_stage_table(ops_)) {}

  void spoil(const std::string& op, const std::string& output, Spoil how) {
    op_ = op, output_ = output, how_ = std::move(how);
  }

  Result<BisectReport> bisect(const std::string& text, BisectOptions options = {}) {
    device_ = spoilt();
    const auto c = parse_case(text, stages_);
    if (!c) return tl::unexpected(c.error());
    return bisect_program({ops_, stages_, *device_, *c, path_}, options);
  }

  /// The spoilt device on `path_` against a healthy one on another path.
  Result<AgainstReport> against(const std::string& text, const std::string& other,
                                BisectOptions options = {}) {
    device_ = spoilt();
    const auto healthy = make_cpu_backend(ops_)->devices();
    const auto c = parse_case(text, stages_);
    if (!c) return tl::unexpected(c.error());
    return bisect_against({ops_, stages_, *device_, *c, path_}, {ops_, stages_, *(*healthy)[0], *c, other},
                          options);
  }

  std::string path_ = "sequential_f32";

  /// The CPU device with what spoil() asked for; this must outlive it.
  std::unique_ptr<Device> spoilt() {
    const auto healthy = make_cpu_backend(ops_)->devices();
    std::vector<HostPath> paths;
    for (const Implementation& i : (*healthy)[0]->implementations()) {
      HostKernel kernel = emulated_kernel(ops_, i.replays.front());
      if (i.op == op_)
        kernel = [kernel, this](const OpCall& call, const Program& program,
                                HostMemory& memory) -> Result<void> {
          if (auto ok = kernel(call, program, memory); !ok) return ok;
          if (output_.empty() || program.spec(call.outputs[0]).name == output_) how_(call, program, memory);
          return {};
        };
      paths.push_back({i, std::move(kernel)});
    }
    return make_host_device((*healthy)[0]->info(), std::move(paths));
  }

 private:
  OpTable ops_;
  StageTable stages_;
  std::string op_, output_;
  Spoil how_;
  std::unique_ptr<Device> device_;
};

inline Spoil set_element(std::size_t port, std::int64_t element, double value) {
  return [=](const OpCall& call, const Program&, HostMemory& memory) {
    Tensor t = *memory.tensor(call.outputs[port]);
    t.set_value(element, value);
    ASSERT_TRUE(memory.assign(call.outputs[port], t));
  };
}

}  // namespace parity::bisecting
