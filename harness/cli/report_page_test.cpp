// The page of `parity report --html` in a browser: it renders, filters, sorts, links and copies, shows what
// changed between two records, and asks for nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "harness/cli/browser.hpp"
#include "harness/cli/cli_testing.hpp"
#include "reports/record_json.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

constexpr int page_cases = 200;

/// A file of records that differ in case, rung, path, verdict and err/bound.
void write_page_records(const std::string& file, const std::function<void(int, Record&)>& change) {
  std::ofstream out(file);
  for (int i = 0; i < page_cases; ++i) {
    Record record = sample_record(Verdict::pass);
    record.stage = i % 2 == 0 ? "gemm" : "rms_norm";
    record.rung = i % 2 == 0 ? 1 : 6;
    record.case_text =
        fmt::format("{} m={} in={} fill=normal seed=1", record.stage, i, i % 5 == 0 ? "f16" : "f32");
    record.path = i % 3 == 0 ? "tiled_f32" : "naive_f32";
    record.reason = "";
    record.outputs[0].judgement.statistics.max_bound_ratio = 0.001 * i;
    record.outputs[0].judgement.statistics.relative_l2 = 1e-7;
    record.outputs[0].judgement.verdict = Verdict::pass;
    change(i, record);
    out << to_json_line(record) << '\n';
  }
}

/// One browser for all tests of the page: starting it costs more than they do.
class ReportPage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string program = Browser::find();
    if (program.empty()) {
      why_not_ = "no Chromium in PATH and PARITY_BROWSER is not set: the page was not tested";
      return;
    }
    scratch_ = std::make_unique<ScratchDirectory>();
    write_page_records(scratch_->file("old.jsonl"), [](int i, Record& record) {
      if (i != 10) return;
      record.verdict = record.outputs[0].judgement.verdict = Verdict::fail;
      record.reason = "</script><script>document.title = 'broken'</script> & \"quotes\"";
      // One tile of four by four is wrong.
      ErrorMap map = ErrorMap::over(256, 256);
      for (std::int64_t row = 8; row < 12; ++row)
        for (std::int64_t column = 20; column < 24; ++column)
          map.ratios[static_cast<std::size_t>(row * map.columns + column)] = 50;
      record.outputs[0].judgement.map = map;
    });
    write_page_records(scratch_->file("new.jsonl"), [](int i, Record& record) {
      record.device.driver = "driver 2";
      if (i == 7) record.outputs[0].judgement.statistics.relative_l2 = 1e-3;
      if (i == 11) record.verdict = record.outputs[0].judgement.verdict = Verdict::suspect;
    });
    const ProgramRun made = parity({"report", scratch_->file("old.jsonl"), scratch_->file("new.jsonl"),
                                    "--html", scratch_->file("both.html")});
    ASSERT_EQ(made.code, 0) << made.err;
    browser_ = Browser::start(program, why_not_);
  }
  static void TearDownTestSuite() {
    browser_.reset();
    scratch_.reset();
  }

  void SetUp() override {
    if (!browser_) GTEST_SKIP() << why_not_;
  }
  void TearDown() override {
    if (!browser_) return;
    EXPECT_EQ(browser_->complaints(), std::vector<std::string>());
    for (const std::string& request : browser_->requests())
      EXPECT_TRUE(request.starts_with("file://" + scratch_->file(""))) << request;
  }

  static void open(const std::string& fragment, const std::string& file = "both.html") {
    browser_->open("file://" + scratch_->file(file) + fragment);
  }
  static nlohmann::json value(const std::string& expression) { return browser_->evaluate(expression); }
  static std::string text(const std::string& selector) {
    const auto found = value("document.querySelector('" + selector + "')?.textContent ?? 'nothing there'");
    return found.is_string() ? found.get<std::string>() : found.dump();
  }
  static void click(const std::string& selector) {
    EXPECT_EQ(
        value("(() => { const e = document.querySelector('" + selector +
              "'); e?.click(); return new Promise((done) => setTimeout(() => done(e !== null), 20)); })()"),
        true)
        << selector;
  }

  static std::unique_ptr<ScratchDirectory> scratch_;
  static std::unique_ptr<Browser> browser_;
  static std::string why_not_;
};

std::unique_ptr<ScratchDirectory> ReportPage::scratch_;
std::unique_ptr<Browser> ReportPage::browser_;
std::string ReportPage::why_not_;

TEST_F(ReportPage, ShowsTheLadderAndLeadsFromACellToItsCases) {
  open("");
  EXPECT_EQ(value("document.title"), "Parity ladder");  // no record's text became a script
  EXPECT_EQ(value("document.querySelectorAll('script').length"), 3);
  EXPECT_EQ(value("document.querySelectorAll('.ladder tbody tr').length"), 2);
  EXPECT_EQ(value("document.querySelectorAll('.ladder td.cell').length"), 4);
  const std::string cell = ".ladder tbody tr:first-child td:nth-child(2)";
  expect_holds(text(cell), "✗");
  expect_holds(text(cell), "1 of 100 fail");
  EXPECT_EQ(value("document.querySelector('" + cell + "').className"), "cell v-fail");

  click(cell + " a");
  expect_holds(text(".found"), "100 cases of 400: 1 fail, 99 pass");
  // A table of a hundred holds the rows in sight alone.
  const auto rows = value("document.querySelectorAll('.rows .row').length");
  EXPECT_GT(rows, 5);
  EXPECT_LT(rows, 60);
  // Rows follow the scrolling with the next picture, which a busy machine paints late.
  const auto last = value(
      "new Promise((done) => { scrollTo(0, 1e6); const began = Date.now(); const look = () => { "
      "const row = [...document.querySelectorAll('.rows .row')].at(-1).textContent; "
      "if (row.includes('gemm m=198') || Date.now() - began > 15000) done(row); else setTimeout(look, 30); "
      "}; "
      "look(); })");
  expect_holds(last.dump(), "gemm m=198");
}

TEST_F(ReportPage, FiltersByWordsFieldsAndFigures) {
  open("#view=cases");
  std::string address;
  for (const auto& [filter, count] : std::vector<std::pair<std::string, std::string>>{
           {"verdict:fail", "1 case of 400"},
           {"gemm f16 set=0", "20 cases of 400"},
           {"rms_norm -f16 path:tiled", "52 cases of 400"},
           {"ratio>0.1955", "8 cases of 400"},
           {"nothing-like-it", "0 cases of 400"},
           {"rung:=gemm device:\"driver 2\"", "100 cases of 400"}}) {
    value("(() => { const box = document.getElementById('filter'); box.value = " +
          nlohmann::json(filter).dump() + "; box.dispatchEvent(new Event('input')); })()");
    EXPECT_EQ(text(".found").substr(0, count.size()), count) << filter;
    address = value("location.hash");
  }
  // What was typed is in the address, and the address shows it again.
  open(address);
  EXPECT_EQ(value("document.getElementById('filter').value"), "rung:=gemm device:\"driver 2\"");
  EXPECT_EQ(text(".found").substr(0, 17), "100 cases of 400:") << address;
}

TEST_F(ReportPage, SortsByAColumnBothWays) {
  open("#filter=set=0");
  const std::string first = ".rows .row[aria-rowindex=\"2\"]";
  expect_holds(text(first), "gemm m=0 ");
  click(".head .c-ratio a");
  expect_holds(text(first), "m=199 ");
  EXPECT_EQ(value("document.querySelector('.head .c-ratio').ariaSort"), "descending");
  click(".head .c-ratio a");
  expect_holds(text(first), "m=0 ");
  click(".head .c-verdict a");
  expect_holds(text(first), "fail");
  open("#filter=set=0&sort=-case");
  expect_holds(text(first), "rms_norm m=99 ");
}

TEST_F(ReportPage, ShowsACaseAndCopiesItsReproLine) {
  open("#filter=verdict:fail");
  click(".rows .row a");
  expect_holds(text("h2"), "gemm m=10 in=f16");
  expect_holds(text(".reason"), "</script><script>document.title = 'broken'</script> & \"quotes\"");
  EXPECT_EQ(value("document.querySelectorAll('.worst tbody tr').length"), 2);
  expect_holds(text(".worst"), "0x7e01");
  EXPECT_GT(value("document.querySelectorAll('.plot rect.count').length"), 10);
  EXPECT_EQ(value("document.querySelectorAll('.plot polyline.predicted').length"), 1);
  // The wrong tile is a square in its place, and marked by more than a colour.
  EXPECT_EQ(value("document.querySelectorAll('.heat rect').length"), 32 * 32);
  EXPECT_EQ(value("document.querySelectorAll('.heat .cross').length"), 16);
  // As drawn, not as counted in the document: a transposed picture has the same rectangles in the same order.
  for (const std::string drawn : {".h8", ".cross"})
    EXPECT_EQ(value("(() => { const size = document.querySelector('.heat rect').getBBox().width; return new "
                    "Set([...document.querySelectorAll('.heat " +
                    drawn +
                    "')].map((shape) => shape.getBBox()).map((box) => [Math.floor(box.x / size), "
                    "Math.floor(box.y / size)]).filter(([x, y]) => x >= 20 && x < 24 && y >= 8 && y < "
                    "12).map(String)).size; })()"),
              16)
        << drawn;
  expect_holds(text(".heat .h8 title"), "rows 64–71, columns 160–167");
  EXPECT_EQ(value("document.querySelectorAll('.heat .h8').length"), 16);
  expect_holds(text(".statistics"), "max error∞");
  expect_holds(text("#main"), "17 elements outside the contract; where: column 2");
  expect_holds(text("#main"), "gemm tiled_f16_f32: split 4 k");

  const std::string repro = sample_record().repro;
  EXPECT_EQ(value("document.querySelector('.copy').dataset.copy"), repro);
  browser_->command("Emulation.setFocusEmulationEnabled", {{"enabled", true}});
  browser_->command("Browser.grantPermissions",
                    {{"permissions", {"clipboardReadWrite", "clipboardSanitizedWrite"}}});
  click(".copy");
  EXPECT_EQ(text(".copy"), "copied");
  EXPECT_EQ(value("navigator.clipboard.readText()"), repro);
}

TEST_F(ReportPage, ShowsTheDetailsOfItsCases) {
  open("");
  // Steps that meet every block, forward and back. (A browser slows pages down that go on much faster.)
  for (const int row : {0, 31, 62, 93, 124, 155, 186, 199, 200, 217, 248, 279, 310, 341, 372, 399, 1, 398}) {
    value(
        fmt::format("new Promise((done) => {{ addEventListener('hashchange', done, {{once: true}}); "
                    "location.hash = 'case={}'; }})",
                    row));
    expect_holds(text("h2"), fmt::format(" m={} ", row % page_cases));
    // What stands here is in the details alone.
    EXPECT_NEAR(value("Number(document.querySelector('.output .figure').textContent.slice(10))"),
                0.001 * (row % page_cases), 1e-9);
  }
}

TEST_F(ReportPage, ACaseIsWholeWhenThePageHasLoaded) {
  // What is printed from a command line is what stands there then.
  const auto script = browser_->command(
      "Page.addScriptToEvaluateOnNewDocument",
      {{"source",
        "addEventListener('load', () => (window.atLoad = document.querySelectorAll('.output dl').length))"}});
  open("#case=399");
  EXPECT_EQ(value("atLoad"), 1);
  browser_->command("Page.removeScriptToEvaluateOnNewDocument", script);
}

TEST_F(ReportPage, SaysThatItsFileWasCutOff) {
  const std::string page = contents(scratch_->file("both.html"));
  const auto cut = [&](std::size_t size) {
    std::ofstream(scratch_->file("cut.html")) << page.substr(0, size);
  };
  const std::string why = "The details of this case cannot be shown: this page's file is damaged or cut off.";
  const std::size_t element = page.find("<script type=\"text/plain\" id=\"blocks\">");
  const std::size_t first = page.find('\n', element) + 1, second = page.find('\n', first) + 1;
  ASSERT_LT(second, page.size() - 1000);
  // Before the blocks; in the first; behind it; in the second, where a base64 group may not be whole.
  for (const std::size_t size : {element, element + 10, first, first + 1, first + 500, first + 501,
                                 first + 502, second, second + 1, second + 2, second + 500}) {
    cut(size);
    open("#case=10", "cut.html");
    expect_holds(text("h2"), "gemm m=10 ");
    if (size < second)
      EXPECT_EQ(text(".warning"), why) << size - first;
    else
      expect_holds(text(".output .figure"), "err/bound 0.01");
    EXPECT_EQ(value("document.querySelectorAll('.output').length"), size < second ? 0 : 1);
    open("#case=399", "cut.html");
    EXPECT_EQ(text(".warning"), why) << size - first;
  }
  cut(page.find("<script>\n"));
  open("", "cut.html");
  expect_holds(text("#main"), "If this line stays");
}

TEST_F(ReportPage, ThereIsNoCaseOfThatNumber) {
  for (const char* number : {"400", "-1", "1.5", "x", "1e1"}) {
    open(std::string("#view=case&case=") + number);
    EXPECT_EQ(text(".warning"), fmt::format("There is no case {} in this page.", number));
  }
  open("#view=case");
  expect_holds(text(".warning"), "There is no case");
}

TEST_F(ReportPage, EveryViewIsALinkAndBackLeadsBack) {
  open("");
  click(".ladder tbody th a");
  EXPECT_EQ(text(".found").substr(0, 17), "200 cases of 400:");
  click(".rows .row a");
  const std::string at = value("location.hash");
  expect_holds(text("h2"), "gemm m=0 ");
  click(".steps a:last-child");  // next
  expect_holds(text("h2"), "gemm m=2 ");
  value(
      "new Promise((done) => { addEventListener('hashchange', () => setTimeout(done, 20), {once: true}); "
      "history.back(); })");
  EXPECT_EQ(value("location.hash"), at);
  expect_holds(text("h2"), "gemm m=0 ");
  open(at);  // as somebody else opens it: before the details are read
  expect_holds(text("h2"), "gemm m=0 ");
  expect_holds(text(".output .figure"), "err/bound 0");
}

TEST_F(ReportPage, NoColumnHeadIsCutOff) {
  for (const char* sort : {"", "-ratio", "-ulp", "-relative", "-equal", "-order", "-seconds", "-verdict"}) {
    open(std::string("#view=cases&sort=") + sort);
    for (const int width : {710, 1200, 1280, 1600}) {
      browser_->resize(width, 800);
      EXPECT_EQ(value("[...document.querySelectorAll('.row.head span')].filter((head) => head.scrollWidth > "
                      "head.clientWidth).map((head) => head.textContent)"),
                nlohmann::json::array())
          << sort << " " << width;
    }
  }
  browser_->resize(1200, 800);
}

TEST_F(ReportPage, PrintsWholeTablesWithoutItsControls) {
  open("#filter=set=0");
  browser_->command("Emulation.setEmulatedMedia", {{"media", "print"}});
  value("dispatchEvent(new Event('beforeprint'))");
  EXPECT_EQ(value("document.querySelectorAll('.rows .row').length"), page_cases);
  EXPECT_EQ(value("getComputedStyle(document.getElementById('theme')).display"), "none");
  EXPECT_EQ(value("getComputedStyle(document.querySelector('.rows .row')).position"), "static");
  value("dispatchEvent(new Event('afterprint'))");
  browser_->command("Emulation.setEmulatedMedia", {{"media", ""}});
  EXPECT_LT(value("document.querySelectorAll('.rows .row').length"), page_cases);
  const auto paper = browser_->command("Page.printToPDF");
  EXPECT_GT(paper.value("data", std::string()).size(), 10000u);
}

TEST_F(ReportPage, ShowsWhatChangedFirst) {
  open("#view=compare");
  expect_holds(text(".found"), "2 verdicts changed, 1 case moved, 197 cases as before.");
  expect_holds(text("#main"), "driver 2");
  EXPECT_EQ(
      value(
          "[...document.querySelectorAll('.rows .row')].map((row) => row.dataset.row + ' ' + row.className)"),
      nlohmann::json({"10 row better", "11 row worse", "7 row "}));
  expect_holds(text(".rows .row:nth-child(3)"), "×10000");
  open("#a=1&b=0");
  EXPECT_EQ(value("[...document.querySelectorAll('.rows .row')].map((row) => row.className)"),
            nlohmann::json({"row worse", "row better", "row "}));
}

TEST_F(ReportPage, FitsAPhoneAndTurnsDark) {
  for (const char* view : {"", "#view=cases", "#case=10", "#view=compare"}) {
    open(view);
    browser_->resize(360, 640);
    EXPECT_LE(value("document.documentElement.scrollWidth"), 360) << view;
    // The name, the views and the button stand in one line.
    EXPECT_LT(value("document.querySelector('header').offsetHeight"), 60) << view;
    for (const int width : {710, 1200, 1280}) {
      browser_->resize(width, 800);
      EXPECT_LE(value("document.documentElement.scrollWidth"), width) << view;
    }
    browser_->resize(1200, 800);
  }
  const auto lightness = [] {
    return value("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])");
  };
  while (value("document.documentElement.dataset.theme") != "dark") click("#theme");
  EXPECT_LT(lightness(), 60);
  while (value("document.documentElement.dataset.theme") != "light") click("#theme");
  EXPECT_GT(lightness(), 200);
}

}  // namespace
}  // namespace parity
