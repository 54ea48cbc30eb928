#include "harness/cli/opened_plan.hpp"
#include "harness/cli/run_engine.hpp"

namespace parity::cli {
namespace {

class EngineHere : public RunEngine {
 public:
  explicit EngineHere(OpenedPlan opened) : opened_(std::move(opened)) {}
  const PlanOutline& outline() const override { return opened_.plan.outline; }

  Result<void> run(const std::vector<ItemState>& states, const RunSink& sink) override {
    for (std::size_t item = 0; item < states.size(); ++item) {
      if (states[item] == ItemState::passed) pass_over_item(opened_.plan, item);
      if (states[item] != ItemState::to_run) continue;
      if (sink.stopping()) break;
      sink.begun(item);
      if (!sink.finished(item, run_item(opened_.plan, item))) break;
    }
    return {};
  }

 private:
  OpenedPlan opened_;
};

}  // namespace

Result<std::unique_ptr<RunEngine>> open_here(const Context& context, const RunRequest& request) {
  auto opened = open_plan(context, request);
  if (!opened) return tl::unexpected(opened.error());
  return std::make_unique<EngineHere>(*std::move(opened));
}

}  // namespace parity::cli
