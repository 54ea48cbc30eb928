#include "harness/bisect/parting.hpp"

#include "harness/bisect/trace_session.hpp"

namespace parity {

Result<Parting> part(const BisectTarget& faulty, const BisectTarget& healthy, const BisectOptions& options,
                     std::int64_t last_step, const std::string& tensor) {
  auto wrong = TraceSession::load(faulty, options);
  if (!wrong) return tl::unexpected(wrong.error());
  auto right = TraceSession::load(healthy, options);
  if (!right) return tl::unexpected(right.error());
  Parting parting;
  for (std::int64_t step = 0;; ++step) {
    const auto got = wrong->run();
    if (!got) return tl::unexpected(got.error());
    const auto want = right->run();
    if (!want) return tl::unexpected(want.error());
    for (std::size_t i = 0; i < got->size() && !parting.parts; ++i) {
      if ((*got)[i].hash == (*want)[i].hash) continue;
      parting.parts = true;
      parting.step = step;
      parting.call = wrong->trace().points[i].call;
    }
    if (step == last_step) break;
    if (auto ok = wrong->advance(); !ok) return tl::unexpected(ok.error());
    if (auto ok = right->advance(); !ok) return tl::unexpected(ok.error());
  }
  const auto id = wrong->program().find(tensor);
  if (!id) return parting;
  auto got = wrong->tensors({*id});
  if (!got) return tl::unexpected(got.error());
  auto want = right->tensors({*id});
  if (!want) return tl::unexpected(want.error());
  const Tensor &x = got->at(*id), &y = want->at(*id);
  for (std::int64_t i = 0; i < x.elements(); ++i) parting.there.push_back(x.bits(i) != y.bits(i));
  return parting;
}

}  // namespace parity
