#include "bench/host_baseline.hpp"

#include <fmt/core.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <Eigen/Core>
#include <array>

#include "harness/tensor/convert.hpp"

namespace parity {
namespace {

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Matrix<float, 1, Eigen::Dynamic>;

/// Below this many elements a loop is over before other threads have begun.
constexpr Index worth_threads = 1 << 14;

Result<Matrix> matrix_of(const Program& program, const std::map<TensorId, Tensor>& inputs, const char* name) {
  const auto id = program.find(name);
  const auto tensor = id ? inputs.find(*id) : inputs.end();
  if (tensor == inputs.end()) return bad_input(fmt::format("the case has no input '{}'", name));
  const Shape& shape = tensor->second.shape();
  if (shape.empty() || shape.size() > 2)
    return bad_input(fmt::format("input '{}' has shape {}, not a matrix or a row", name, to_string(shape)));
  Matrix matrix(shape.size() == 2 ? shape.front() : 1, shape.back());
  widen(tensor->second, std::span<float>(matrix.data(), static_cast<std::size_t>(matrix.size())));
  return matrix;
}

std::span<const float> elements_of(const Matrix& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

/// D = op(A) op(B).
class HostGemm final : public HostBaseline {
 public:
  HostGemm(Matrix a, Matrix b, bool ta, bool tb) : a_(std::move(a)), b_(std::move(b)), ta_(ta), tb_(tb) {
    d_.resize(ta ? a_.cols() : a_.rows(), tb ? b_.rows() : b_.cols());
  }
  void run() override {
    if (ta_ && tb_)
      d_.noalias() = a_.transpose() * b_.transpose();
    else if (ta_)
      d_.noalias() = a_.transpose() * b_;
    else if (tb_)
      d_.noalias() = a_ * b_.transpose();
    else
      d_.noalias() = a_ * b_;
  }
  std::span<const float> result() const override { return elements_of(d_); }

 private:
  Matrix a_, b_, d_;
  bool ta_, tb_;
};

struct GruInputs {
  Matrix x, h, w_ih, w_hh;
  Row b_ih, b_hh;
};

/// r, z = sigmoid(a + u), n = tanh(a_n + r u_n), h' = (1 - z) n + z h; a = W_ih x + b_ih, u = W_hh h + b_hh.
class HostGruCell final : public HostBaseline {
 public:
  explicit HostGruCell(GruInputs inputs) : in_(std::move(inputs)) {
    const Index batch = in_.h.rows(), hidden = in_.h.cols();
    a_.resize(batch, 3 * hidden);
    u_.resize(batch, 3 * hidden);
    next_.resize(batch, hidden);
  }
  void run() override {
    a_.noalias() = in_.x * in_.w_ih.transpose();
    u_.noalias() = in_.h * in_.w_hh.transpose();
    const Index batch = in_.h.rows();
#pragma omp parallel for schedule(static) if (next_.size() >= worth_threads)
    for (Index i = 0; i < batch; ++i) gates(i);
  }
  std::span<const float> result() const override {
    return elements_of(next_);
  }

 private:
  void gates(Index i) {
    const Index hidden = in_.h.cols();
    auto a = a_.row(i).array();
    auto u = u_.row(i).array();
    a += in_.b_ih.array();
    u += in_.b_hh.array();
    auto r = a.segment(0, hidden);
    auto z = a.segment(hidden, hidden);
    r = (r + u.segment(0, hidden)).logistic();
    z = (z + u.segment(hidden, hidden)).logistic();
    auto n = u.segment(2 * hidden, hidden);
    n = (a.segment(2 * hidden, hidden) + r * n).tanh();
    next_.row(i).array() = (1 - z) * n + z * in_.h.row(i).array();
  }
  GruInputs in_;
  Matrix a_, u_, next_;
};

Error unsupported(const std::string& why) {
  return {ErrorKind::unsupported, "no CPU baseline: " + why};
}

}  // namespace

std::string host_baseline_text() {
  return fmt::format("fp32, Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
}

int host_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void set_host_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

Result<std::unique_ptr<HostBaseline>> make_host_baseline(const Case& c, const Program& program,
                                                         const std::map<TensorId, Tensor>& inputs) {
  const Attributes& p = c.parameters;
  if (c.stage == "gemm") {
    if (p.integer("batch", 1) != 1 || p.real("alpha", 1) != 1 || p.real("beta", 0) != 0)
      return tl::unexpected(unsupported("gemm with batch, alpha or beta"));
    auto a = matrix_of(program, inputs, "A"), b = matrix_of(program, inputs, "B");
    if (!a) return tl::unexpected(a.error());
    if (!b) return tl::unexpected(b.error());
    return std::make_unique<HostGemm>(*std::move(a), *std::move(b), p.text("ta") == "t", p.text("tb") == "t");
  }
  if (c.stage == "gru_cell") {
    if (p.text("variant") != "linear_before_reset")
      return tl::unexpected(unsupported("gru_cell with variant=" + p.text("variant")));
    constexpr std::array names = {"x", "h", "w_ih", "w_hh", "b_ih", "b_hh"};
    std::array<Matrix, names.size()> m;
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto matrix = matrix_of(program, inputs, names[i]);
      if (!matrix) return tl::unexpected(matrix.error());
      m[i] = *std::move(matrix);
    }
    return std::make_unique<HostGruCell>(
        GruInputs{std::move(m[0]), std::move(m[1]), std::move(m[2]), std::move(m[3]), m[4], m[5]});
  }
  return tl::unexpected(
      unsupported(fmt::format("there is one of gemm and of gru_cell, none of {}", c.stage)));
}

}  // namespace parity
