#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "harness/bisect/against.hpp"
#include "harness/bisect/saved_calls.hpp"
#include "harness/cli/against_output.hpp"
#include "harness/cli/backend_loader.hpp"
#include "harness/cli/bisect_list.hpp"
#include "harness/cli/bisect_output.hpp"
#include "harness/cli/bisect_scenarios.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/faulty_devices.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/run_output.hpp"
#include "harness/cli/user_inputs.hpp"
#include "harness/ladder/assignment.hpp"

namespace parity::cli {
namespace {

struct BisectRequest {
  std::string case_text, device, path, against, out, fault, nan = "allow";
  std::string plant;
  std::vector<std::string> inputs, settings;
  std::int64_t steps = 0;
  int repeats = 2;
  double timeout_seconds = 60;
  bool scans_only = false, json = false, git = false, validate = false, catalogue = false;
};

/// The case, completed from the user's tensors where there are any.
Result<BoundCase> read_case(const BisectRequest& request, const UserInputs& inputs,
                            const StageTable& stages) {
  if (inputs.empty()) {
    auto c = parse_case(request.case_text, stages);
    if (!c) return tl::unexpected(c.error());
    return BoundCase{*std::move(c), {}, {}};
  }
  auto bound = bind_inputs(request.case_text, inputs, stages);
  if (!bound) return tl::unexpected(bound.error());
  if (bound->size() != 1)
    return bad_input(fmt::format("'{}' stands for {} cases; give one", request.case_text, bound->size()));
  return std::move(bound->front());
}

Result<void> write_findings(const std::filesystem::path& directory, const BisectReport& report,
                            const Bisected& what) {
  if (auto ok = write_file(directory / "bisect.json", bisect_json(report, what)); !ok) return ok;
  const std::string subtitle =
      fmt::format("{}, {} {}, path {}", what.case_text, what.device.id, what.device.name, what.path);
  const std::string by_step = growth_svg(report, subtitle, GrowthAxis::steps);
  const std::string by_timestep = growth_svg(report, subtitle, GrowthAxis::timesteps);
  if (!by_step.empty())
    if (auto ok = write_file(directory / "growth_steps.svg", by_step); !ok) return ok;
  if (!by_timestep.empty())
    if (auto ok = write_file(directory / "growth_timesteps.svg", by_timestep); !ok) return ok;
  if (!report.producer) return {};
  return write_producer(directory, *report.producer);
}

/// Where it is, and the command that runs the producer alone; without a device, that judges it.
std::string written_text(const BisectRequest& request, const Producer* producer, const Device* device) {
  std::string text = fmt::format("  written     {}\n", request.out);
  if (producer == nullptr || producer->kind.empty()) return text;
  text += fmt::format("  again       parity bisect {}", shell_quoted(request.out));
  if (device != nullptr) text += fmt::format(" --device {} --path {}", device->info().id, producer->path);
  if (!request.fault.empty()) text += fmt::format(" --fault {}", shell_quoted(request.fault));
  return text + "\n";
}

int code_of(const BisectReport& report) {
  using Kind = BisectReport::Kind;
  if (report.kind == Kind::reference_at_fault) return harness_failed;
  return report.kind == Kind::not_finite || report.kind == Kind::out_of_contract ? contract_failed : passed;
}

/// "PATH", "PATH@DEVICE" or "@DEVICE".
struct OtherSide {
  std::string path, device;
};
OtherSide parse_other(const std::string& text, const std::string& device) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) return {text, device};
  return {text.substr(0, at), text.substr(at + 1)};
}

Result<std::string> choose_path(const std::string& path, const Device& device, const Program& program) {
  if (!path.empty()) return path;
  const auto paths = assignable_paths(device, program);
  if (paths.empty())
    return fail(ErrorKind::unsupported, fmt::format("{} has no path for this case", device.info().id));
  return paths.front();
}

Result<int> against(const BisectRequest& request, const std::string& case_text, const BisectTarget& target,
                    const BisectTarget& other, const BisectOptions& options, Progress& progress) {
  auto report = bisect_against(target, other, options);
  progress.clear();
  if (!report) return tl::unexpected(report.error());
  const Compared what{case_text, target.device.info(), target.path, other.device.info(), other.path};
  const std::string json = against_json(*report, what);
  print(request.json ? json : against_text(*report, what));
  if (!request.out.empty()) {
    const std::filesystem::path directory = request.out;
    if (auto ok = write_file(directory / "bisect.json", json); !ok) return tl::unexpected(ok.error());
    const Producer* wrong = report->first ? &*report->first : report->second ? &*report->second : nullptr;
    if (wrong != nullptr)
      if (auto ok = write_producer(directory, *wrong); !ok) return tl::unexpected(ok.error());
    const BisectTarget& side = report->first ? target : other;
    BisectRequest again = request;
    if (!report->first) again.fault.clear();  // the other side's kernels have none
    if (!request.json) print(written_text(again, wrong, &side.device));
  }
  if (report->kind == AgainstReport::Kind::reference_at_fault) return harness_failed;
  return report->kind == AgainstReport::Kind::diverges ? contract_failed : passed;
}

/// A case, or what a folder of saved calls holds.
struct Subject {
  std::string text;
  BoundCase bound;
  std::unique_ptr<const Stage> saved;
  const Stage* stage = nullptr;
};

bool is_folder(const std::string& what) {
  std::error_code ignored;
  return std::filesystem::is_directory(what, ignored);
}

Result<Subject> read_subject(const Context& context, const BisectRequest& request) {
  Subject subject;
  if (is_folder(request.case_text)) {
    if (!request.inputs.empty() || !request.settings.empty())
      return bad_input("--input and --set belong to a case; a trace holds its own tensors");
    auto saved = saved_calls(context.ops, request.case_text);
    if (!saved) return tl::unexpected(saved.error());
    subject.saved = *std::move(saved);
    subject.stage = subject.saved.get();
    subject.text = request.case_text;
    return Result<Subject>(std::move(subject));
  }
  const auto inputs =
      read_user_inputs(request.inputs, request.nan == "allow" ? NanPolicy::allow : NanPolicy::reject);
  if (!inputs) return tl::unexpected(inputs.error());
  auto bound = read_case(request, *inputs, context.stages);
  if (!bound) return tl::unexpected(bound.error());
  subject.bound = *std::move(bound);
  subject.stage = context.stages.find(subject.bound.c.stage);
  subject.text = print_case(subject.bound.c, context.stages);
  std::vector<InputSetting> settings;
  for (const std::string& text : request.settings) {
    auto setting = parse_setting(text);
    if (!setting)
      return fail(setting.error().kind, fmt::format("--set {}: {}", text, setting.error().message));
    settings.push_back(*std::move(setting));
  }
  if (settings.empty()) return Result<Subject>(std::move(subject));
  const auto program = subject.stage->build(subject.bound.c);
  if (!program) return tl::unexpected(program.error());
  auto set =
      with_settings(*subject.stage, subject.bound.c, *program, std::move(subject.bound.tensors), settings);
  if (!set) return tl::unexpected(set.error());
  subject.bound.tensors = *std::move(set);
  return Result<Subject>(std::move(subject));
}

Result<int> bisect(const Context& context, const BisectRequest& request) {
  const OtherSide other_side = parse_other(request.against, request.device);
  const BackendOptions backend{.validate = request.validate, .timeout_seconds = request.timeout_seconds};
  const BackendSet set = load_backends(context.ops, backend, context.backend_directory,
                                       backends_for({request.device, other_side.device}));
  const auto healthy = one_device(set, request.device, "--device");
  if (!healthy) return tl::unexpected(healthy.error());
  const auto other = one_device(set, other_side.device, "--against");
  if (!other) return tl::unexpected(other.error());
  FaultyDevices faulty(context.ops, backend, context.backend_directory);
  Device* chosen = *healthy;
  if (!request.fault.empty()) {
    const auto planted = faulty.with(request.fault, **healthy);
    if (!planted)
      return bad_input(
          fmt::format("--fault {}: {}; `parity faults --list` names the faults and where each is",
                      request.fault, planted.error().message));
    chosen = *planted;
  }
  Device& device = *chosen;
  const auto subject = read_subject(context, request);
  if (!subject) return tl::unexpected(subject.error());
  const auto program = subject->stage->build(subject->bound.c);
  if (!program) return tl::unexpected(program.error());
  const auto path = choose_path(request.path, device, *program);
  if (!path) return tl::unexpected(path.error());
  if (!request.out.empty())
    if (auto made = make_directory(request.out); !made) return tl::unexpected(made.error());

  const std::int64_t steps = request.steps > 0 ? request.steps : subject->stage->steps(subject->bound.c);
  Progress progress(static_cast<std::size_t>(steps));
  BisectOptions options;
  options.steps = request.steps;
  options.repeats = request.repeats;
  options.judge = !request.scans_only;
  options.inputs = subject->bound.tensors;
  options.progress = [&](std::int64_t runs, std::int64_t step) {
    progress.begin(static_cast<std::size_t>(step + 1), fmt::format("{} runs", runs));
  };
  std::optional<PlantedDevice> planted;
  if (!request.plant.empty()) {
    auto change = parse_change(request.plant);
    if (!change) return tl::unexpected(change.error());
    planted.emplace(device, *std::move(change));
    options.before_run = [&](std::int64_t step) { planted->set_step(step); };
  }
  const BisectTarget target{context.ops,      context.stages, planted ? *planted : device,
                            subject->bound.c, *path,          subject->stage};
  if (!request.against.empty()) {
    const auto other_path = choose_path(other_side.path, **other, *program);
    if (!other_path) return tl::unexpected(other_path.error());
    const BisectTarget second{context.ops,      context.stages, **other,
                              subject->bound.c, *other_path,    subject->stage};
    return against(request, subject->text, target, second, options, progress);
  }
  auto report = bisect_program(target, options);
  progress.clear();
  if (!report) return tl::unexpected(report.error());
  const Bisected what{subject->text, device.info(), *path};
  print(request.json ? bisect_json(*report, what) : bisect_text(*report, what));
  if (!request.out.empty()) {
    if (auto written = write_findings(request.out, *report, what); !written)
      return tl::unexpected(written.error());
    if (!request.json) print(written_text(request, report->producer ? &*report->producer : nullptr, &device));
  }
  return code_of(*report);
}

/// A folder of tensors that somebody's engine wrote.
Result<int> bisect_folder(const Context& context, const BisectRequest& request) {
  const auto trace = bisect_trace(context.ops, request.case_text);
  if (!trace) return tl::unexpected(trace.error());
  const std::string json = trace_json(*trace, request.case_text);
  print(request.json ? json : trace_text(*trace, request.case_text));
  if (!request.out.empty()) {
    if (auto made = make_directory(request.out); !made) return tl::unexpected(made.error());
    if (auto ok = write_file(std::filesystem::path(request.out) / "bisect.json", json); !ok)
      return tl::unexpected(ok.error());
    const std::string svg = growth_svg(trace->report, request.case_text, GrowthAxis::ops);
    if (!svg.empty())
      if (auto ok = write_file(std::filesystem::path(request.out) / "growth_ops.svg", svg); !ok)
        return tl::unexpected(ok.error());
    const Producer* producer = trace->report.producer ? &*trace->report.producer : nullptr;
    if (producer != nullptr)
      if (auto ok = write_producer(request.out, *producer); !ok) return tl::unexpected(ok.error());
    if (!request.json) print(written_text(request, producer, nullptr));
  }
  return code_of(trace->report);
}

int run(const Context& context, const BisectRequest& request) {
  std::error_code ignored;
  const bool list = std::filesystem::is_regular_file(request.case_text, ignored);
  const bool folder = is_folder(request.case_text);
  const bool judges_only = folder && request.device.empty();
  if (judges_only && !request.against.empty()) {
    complain("--against compares two paths that run; give --device, to run what the folder holds");
    return bad_usage;
  }
  if (!request.against.empty() && request.scans_only) {
    complain("--against judges the calls whose bits differ; --scans-only judges none");
    return bad_usage;
  }
  if (!folder && request.device.empty()) {
    complain(fmt::format("--device is missing: '{}' is no folder of a trace, and a case runs on a device",
                         request.case_text));
    return bad_usage;
  }
  if (list && (!request.against.empty() || !request.path.empty() || !request.fault.empty() ||
               !request.plant.empty() || !request.inputs.empty() || !request.settings.empty())) {
    complain("a list of scenarios says itself what is planted; it goes with --device, --catalogue and --out");
    return bad_usage;
  }
  const auto code = list
                        ? bisect_list(context, {request.case_text, request.device, request.out,
                                                request.timeout_seconds, request.validate, request.catalogue})
                    : judges_only ? bisect_folder(context, request)
                                  : bisect(context, request);
  return code ? *code : report(code.error());
}

}  // namespace

void add_bisect_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<BisectRequest>();
  CLI::App* command =
      app.add_subcommand("bisect", "The first call that makes a NaN, an infinity or a wrong value, and why");
  command
      ->add_option(
          "what", request->case_text,
          "A case, as `parity run` takes it, a folder with a trace of your engine (docs/trace.md), or a list "
          "of planted scenarios (cases/bisect/scenarios.txt)")
      ->required();
  command->add_option(
      "-d,--device", request->device,
      "An id (vulkan:0), a backend (vulkan) or a part of the name. With a folder: run what it "
      "holds, instead of judging what was saved");
  command->add_option("-p,--path", request->path, "The kernel path; default: the first that is legal");
  command->add_option("--against", request->against,
                      "Another implementation beside it: PATH, PATH@DEVICE or @DEVICE. Where bits first "
                      "differ, whether that is noise, and which side breaks its contract");
  command->add_option("--steps", request->steps, "Runs with the state carried on; default: as the case says")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--repeats", request->repeats, "Runs of the first step, whose bits are compared")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--scans-only", request->scans_only,
                    "Look for NaN and Inf alone: finite results are not judged, nothing else is downloaded");
  command
      ->add_option("-i,--input", request->inputs,
                   "A tensor of your own in place of a fill: NAME=FILE.npy or NAME=FILE.safetensors:TENSOR")
      ->allow_extra_args(false);
  command
      ->add_option("--set", request->settings,
                   "Elements of an input, filled or your own: 'x[3, *] = 6e4'; nan and inf too")
      ->allow_extra_args(false);
  command->add_option("--nan", request->nan, "A NaN in --input: search for who passes it on, or reject it")
      ->check(CLI::IsMember({"reject", "allow"}))
      ->capture_default_str();
  command->add_option(
      "--fault", request->fault,
      "Plant this fault of `parity faults --list` in the kernels first, to see what is found");
  command->add_option(
      "--plant", request->plant,
      "Make one result go wrong on the device: 'h[0, 3] times nan at step 2', 'h unwritten' or "
      "'h reads p in place of q'");
  command->add_flag("--catalogue", request->catalogue,
                    "With a list of scenarios: every other faulty kernel of `parity faults --list` too");
  command->add_flag("--validate", request->validate, "Vulkan: with the validation layer");
  command->add_option("--timeout", request->timeout_seconds, "Seconds that one run may take on a device")
      ->check(number_in(0.001, 86400.0))
      ->capture_default_str();
  command->add_option("-o,--out", request->out,
                      "Directory for bisect.json, plots of max |x| (growth_*.svg), and the producer with its "
                      "real inputs as a trace of one op");
  command->add_flag("--json", request->json, "One JSON object on standard output, for programs");
  command->add_flag("--git", request->git,
                    "Exit codes for `git bisect run`: 0 good, 1 bad, 125 cannot be judged");
  command->footer(
      "The program runs on the device with a scan behind every call: counts of NaN and Inf, max |x| and a\n"
      "hash, 256 bytes a result, are all that is downloaded at each step. The first call whose result is "
      "not\n"
      "finite is run again by its references on the device's own inputs: it is the producer where they have\n"
      "a finite result or an operation of theirs makes the NaN of finite numbers; otherwise it only passes "
      "on\n"
      "what it was given. Finite results are judged at step 0, 1, 2, 4, ... and the last one, and a step "
      "that\n"
      "does not pass is searched by bisection from the state of the last one that did.\n"
      "\n"
      "Examples:\n"
      "  parity bisect 'training_step batch=2 seq=8 width=16 steps=50' --device vulkan\n"
      "  parity bisect 'gru_sequence steps=1000 batch=2 inputs=8 hidden=16 fill=overflow' -d cuda -o found\n"
      "  parity bisect 'linear in=f16 out=f16' --input X=x.npy --input W=w.npy --device cuda\n"
      "  parity bisect 'training_step ...' -d vulkan -p tiled_f32 --against naive_f32\n"
      "  parity bisect 'attention ...' -d vulkan --against @cuda\n"
      "  parity bisect trace/                       what your own engine wrote\n"
      "  parity bisect found --device vulkan:0      the saved inputs through a kernel of ours\n"
      "  parity bisect cases/bisect/scenarios.txt --device vulkan   is what is planted found?\n"
      "  git bisect run build/release/bin/parity bisect 'gru_cell ...' --device cpu --git\n"
      "\n"
      "Exit codes: 0 nothing is wrong (bits that vary and NaNs that the inputs hold are said); 1 a call is "
      "to\n"
      "blame, or the device failed; 2 bad usage or input; 3 the device is not here; 4 the path cannot run "
      "the\n"
      "case; 5 the harness failed, or a reference contradicts itself. With --git 2 to 5 become 125.");
  command->callback([request, &context] {
    const int code = run(context, *request);
    context.exit_code = request->git ? for_git(code) : code;
  });
}

}  // namespace parity::cli
