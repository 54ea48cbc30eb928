#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "harness/cli/opened_plan.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/reruns.hpp"
#include "harness/cli/run_engine.hpp"
#include "harness/worker/supervisor.hpp"
#include "reports/record_json.hpp"

namespace parity::cli {
namespace {

/// What all that belongs to a case may take: time limits of one run on the device, for repeats and order
/// experiments, and time for the references on the host, which no option hurries.
constexpr double runs_a_case = 10, host_seconds_a_case = 600;

/// The items of a plan on one device, in order.
std::vector<std::size_t> items_on(const PlanOutline& plan, const std::string& device) {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < plan.items.size(); ++i)
    if (plan.device_of(plan.items[i]).id == device) items.push_back(i);
  return items;
}

/// A device that failed a case in this way is not to be trusted with the next.
bool spoils_device(Verdict verdict) {
  return verdict == Verdict::crash || verdict == Verdict::timeout;
}

/// In a worker: opens what the request asks for, says what there is to do, and does what it is told.
int work(const Context& context, const RunRequest& request, bool one_of_several, WorkerChannel& channel) {
  // Threads of workers that wait for each other are slower than fewer of them.
  if (request.side_by_side > 1 && !std::getenv("OMP_NUM_THREADS"))
    omp_set_num_threads(std::max(1, omp_get_max_threads() / request.side_by_side));
  const auto opened = open_plan(context, request, one_of_several);
  if (!opened) {
    channel.write(refused_line(opened.error()));
    return 0;
  }
  const RunPlan& plan = opened->plan;
  std::vector<std::size_t> items;
  if (!plan.outline.items.empty())
    items = items_on(plan.outline, plan.outline.device_of(plan.outline.items.front()).id);
  channel.write(ready_line(outline_line(plan.outline)));
  while (const auto line = channel.read_line()) {
    const auto order = parse_order(*line);
    if (!order || order->run >= items.size()) {
      complain(fmt::format("a worker was told what it does not understand: {}", *line));
      return 1;
    }
    for (const std::size_t number : order->passed) pass_over_item(plan, items.at(number));
    channel.write(begun_line(order->run));
    Record record = run_item(plan, items[order->run]);
    record.device.facts.clear();  // the other side has them
    const std::string text = to_json_line(record);
    if (spoils_device(record.verdict)) {
      channel.write(last_line(order->run, text));
      return 0;
    }
    channel.write(done_line(order->run, text));
  }
  return 0;
}

class EngineOfWorkers : public RunEngine {
 public:
  EngineOfWorkers(const Context& context, const RunRequest& request)
      : context_(context),
        request_(request),
        reruns_(request.rerun),
        supervisor_(options_for(request), events()) {}

  /// The first worker opens every device, for what there is to do is not known before. Where there is but
  /// one, it goes on to work for it.
  Result<void> open() {
    Lane lane;
    lane.name = "the devices";
    lane.main = [this](WorkerChannel& channel) { return work(context_, request_, false, channel); };
    lane.check_ready = [this](std::string_view payload) -> Result<void> {
      auto plan = parse_plan_outline(payload);
      if (!plan) return fail(ErrorKind::internal, "a worker's plan: " + plan.error().message);
      outline_ = *std::move(plan);
      return {};
    };
    supervisor_.add(std::move(lane));
    return supervisor_.open(0);
  }

  const PlanOutline& outline() const override { return outline_; }

  Result<void> run(const std::vector<ItemState>& states, const RunSink& sink) override {
    sink_ = &sink;
    stopped_ = false;
    std::vector<std::string> devices;
    for (const PlanItem& item : outline_.items)
      if (std::find(devices.begin(), devices.end(), outline_.device_of(item).id) == devices.end())
        devices.push_back(outline_.device_of(item).id);
    if (devices.size() > 1) supervisor_.retire(0);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (i > 0) supervisor_.add({});
      Lane& lane = supervisor_.lane(i);
      lane = lane_for(devices[i], static_cast<int>(devices.size()));
      const std::vector<std::size_t> items = items_on(outline_, devices[i]);
      lane.passed.assign(items.size(), false);
      for (std::size_t number = 0; number < items.size(); ++number) {
        const ItemState state = states[items[number]];
        if (state == ItemState::to_run) lane.work.push_back({number, items[number]});
        lane.passed[number] = state == ItemState::passed;
      }
    }
    const auto ran = supervisor_.run();
    for (auto& [item, record] : reruns_.rest()) hand_over(item, std::move(record));
    return ran;
  }

 private:
  static SupervisorOptions options_for(const RunRequest& request) {
    SupervisorOptions options;
    options.case_seconds = request.case_timeout_seconds > 0
                               ? request.case_timeout_seconds
                               : host_seconds_a_case + runs_a_case * request.timeout_seconds;
    options.may_repeat = request.rerun > 0;
    return options;
  }

  Lane lane_for(const std::string& device, int side_by_side) {
    Lane lane;
    lane.name = device;
    RunRequest own = request_;
    own.devices = {device};
    own.side_by_side = side_by_side;
    lane.main = [this, own](WorkerChannel& channel) { return work(context_, own, true, channel); };
    lane.check_ready = [this, device](std::string_view payload) -> Result<void> {
      const auto plan = parse_plan_outline(payload);
      if (!plan) return fail(ErrorKind::internal, "a worker's plan: " + plan.error().message);
      return same_plan(*plan, device);
    };
    return lane;
  }

  /// A driver that was replaced meanwhile, or that numbers its devices anew, must not go unseen.
  Result<void> same_plan(const PlanOutline& plan, const std::string& device) const {
    if (identity_of(plan, device) == identity_of(outline_, device)) return {};
    return fail(ErrorKind::internal,
                fmt::format("{}: a fresh worker finds another device, driver or plan than the run began with",
                            device));
  }

  Supervisor::Events events() {
    Supervisor::Events events;
    events.begun = [this](std::size_t item) {
      if (!reruns_.again(item)) sink_->begun(item);
    };
    events.done = [this](std::size_t item, std::string_view payload) {
      auto record = parse_record_json(payload);
      const PlanItem& planned = outline_.items[item];
      if (!record || record->case_text != planned.text || record->path != planned.path)
        return Supervisor::Taken::garbage;
      record->device = outline_.device_of(planned);
      const bool passed = record->verdict == Verdict::pass;
      if (!keep(item, *std::move(record))) return Supervisor::Taken::again;
      return passed ? Supervisor::Taken::passed : Supervisor::Taken::other;
    };
    events.lost = [this](std::size_t item, const LostCase& lost) {
      Record record = blank_record(outline_, item);
      record.verdict = lost.timed_out ? Verdict::timeout : Verdict::crash;
      record.reason = lost.reason;
      record.last_words = lost.last_words;
      return !keep(item, std::move(record));
    };
    events.printed = [this](std::string_view text) {
      if (sink_) sink_->about_to_print();
      std::fwrite(text.data(), 1, text.size(), stderr);
      std::fflush(stderr);
    };
    events.note = [this](const std::string& sentence) {
      if (sink_) sink_->about_to_print();
      complain(sentence);
    };
    events.stopping = [this] { return stopped_ || (sink_ && sink_->stopping()); };
    return events;
  }

  /// false: the item is to be run again.
  bool keep(std::size_t item, Record record) {
    auto known = reruns_.take(item, std::move(record));
    if (known) hand_over(item, *std::move(known));
    return known.has_value();
  }

  void hand_over(std::size_t item, Record record) {
    if (!sink_->finished(item, std::move(record))) stopped_ = true;
  }

  const Context& context_;
  const RunRequest& request_;
  PlanOutline outline_;
  bool stopped_ = false;
  const RunSink* sink_ = nullptr;
  Reruns reruns_;
  Supervisor supervisor_;
};

}  // namespace

Result<std::unique_ptr<RunEngine>> open_workers(const Context& context, const RunRequest& request) {
  auto engine = std::make_unique<EngineOfWorkers>(context, request);
  if (auto opened = engine->open(); !opened) return tl::unexpected(opened.error());
  return engine;
}

}  // namespace parity::cli
