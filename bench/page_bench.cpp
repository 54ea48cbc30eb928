// How long the page of a large record takes in a browser: until its ladder stands there, until a filter has
// answered, until the page is read whole, and until a case's details are there. Beside it an empty page, in
// the same browser and the same minute.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/cli/browser.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"
#include "reports/page.hpp"

namespace parity {
namespace {

/// Records as a run leaves them: some real ones, again and again under other seeds.
std::vector<Record> many_records(std::int64_t count) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = make_cpu_backend(ops)->devices();
  Runner runner(ops, stages, *devices->front(), {});
  std::vector<Record> records;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t kind = i % 100;
    std::string text = fmt::format("gemm m={} n=48 k=64 in={} fill=normal seed={}", 32 + kind / 2,
                                   kind % 2 == 0 ? "f16" : "f32", i);
    if (kind == i)
      records.push_back(
          runner.run(*parse_case(text, stages), kind % 2 == 0 ? "sequential_f16_f32" : "sequential_f32"));
    else
      records.push_back(records[static_cast<std::size_t>(kind)]);
    records.back().case_text = std::move(text);
  }
  return records;
}

/// Runs in the page before anything of it: goes through it as soon as each thing is there, and notes when
/// that was, in milliseconds since the page was asked for.
constexpr const char* walk = R"(
window.walk = new Promise((done) => {
  const seen = {};
  const when = (name, there, next) => {
    const look = () => {
      const found = there();
      if (!found) return setTimeout(look, 2);
      seen[name] = performance.now();
      next(found);
    };
    look();
  };
  const whole = new Promise((read) => addEventListener("load", () => read(performance.now())));
  when("ladder", () => document.querySelector(".ladder td.cell"), () => {
    location.hash = "view=cases";
    when("table", () => document.querySelector(".rows .row") && document.getElementById("filter"), (box) => {
      const all = document.querySelector(".found").textContent;
      box.value = "f16 ratio>0.2 verdict:pass";
      box.dispatchEvent(new Event("input"));
      when("filter", () => document.querySelector(".found").textContent !== all, () => {
        location.hash = "case=99";
        when("case", () => document.querySelector(".output .statistics"), async () => {
          seen.whole = await whole;
          done(seen);
        });
      });
    });
  });
});
)";

void OpenPage(benchmark::State& state) {
  std::string why = "no Chromium in PATH and PARITY_BROWSER is not set";
  const std::string program = Browser::find();
  const auto browser = program.empty() ? nullptr : Browser::start(program, why);
  if (!browser) return state.SkipWithError(why.c_str());
  const ScratchDirectory scratch;
  const std::vector<Record> records = many_records(state.range(0));
  const PageSource source{"records.jsonl", records, {}};
  const std::string page = to_html(std::span(&source, 1));
  std::ofstream(scratch.file("page.html")) << page;
  std::ofstream(scratch.file("empty.html")) << "<!doctype html><title>empty</title>";

  std::map<std::string, double> sums;
  for (auto _ : state) {
    const auto script = browser->command("Page.addScriptToEvaluateOnNewDocument", {{"source", walk}});
    browser->open("file://" + scratch.file("page.html"));
    const auto seen = browser->evaluate("walk");
    browser->command("Page.removeScriptToEvaluateOnNewDocument", script);
    if (!seen.is_object()) return state.SkipWithError("the page did not answer");
    for (const auto& [name, milliseconds] : seen.items()) sums[name] += milliseconds.get<double>();
    state.SetIterationTime(std::max(seen["whole"].get<double>(), seen["case"].get<double>()) / 1e3);
    browser->open("file://" + scratch.file("empty.html"));
    sums["empty page"] +=
        browser->evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd").get<double>();
  }
  for (const auto& [name, sum] : sums)
    state.counters[name + ", ms"] = sum / static_cast<double>(state.iterations());
  state.counters["size, MB"] = static_cast<double>(page.size()) / 1e6;
}
BENCHMARK(OpenPage)->Arg(100)->Arg(10'000)->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parity
