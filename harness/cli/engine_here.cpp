#include "harness/cli/opened_plan.hpp"
#include "harness/cli/reruns.hpp"
#include "harness/cli/run_engine.hpp"

namespace parity::cli {
namespace {

class EngineHere : public RunEngine {
 public:
  EngineHere(OpenedPlan opened, int reruns) : opened_(std::move(opened)), reruns_(reruns) {}
  const PlanOutline& outline() const override { return opened_.plan.outline; }

  Result<void> run(const std::vector<ItemState>& states, const RunSink& sink) override {
    for (std::size_t item = 0; item < states.size(); ++item) {
      if (states[item] == ItemState::passed) pass_over_item(opened_.plan, item);
      if (states[item] != ItemState::to_run) continue;
      if (sink.stopping()) break;
      sink.begun(item);
      auto record = reruns_.take(item, run_item(opened_.plan, item));
      while (!record && !sink.stopping()) record = reruns_.take(item, run_item(opened_.plan, item));
      if (!record) record = std::move(reruns_.rest().at(item));
      if (!sink.finished(item, *std::move(record))) break;
    }
    return {};
  }

 private:
  OpenedPlan opened_;
  Reruns reruns_;
};

}  // namespace

Result<std::unique_ptr<RunEngine>> open_here(const Context& context, const RunRequest& request) {
  auto opened = open_plan(context, request);
  if (!opened) return tl::unexpected(opened.error());
  return std::make_unique<EngineHere>(*std::move(opened), request.rerun);
}

}  // namespace parity::cli
