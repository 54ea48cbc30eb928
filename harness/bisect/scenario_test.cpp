// What goes wrong on purpose: the texts that say it, and the device that does it.
#include "harness/bisect/scenario.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include "harness/bisect/bisect_testing.hpp"
#include "harness/bisect/parting.hpp"

namespace parity::bisecting {
namespace {

TEST(Scenario, PlacesAndChanges) {
  const auto place = parse_place(" w[3, *] ");
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->tensor, "w");
  EXPECT_EQ(*elements_at(*place, {4, 3}), (std::vector<std::int64_t>{9, 10, 11}));
  EXPECT_FALSE(elements_at(*place, {3, 3}));
  EXPECT_FALSE(elements_at(*place, {4}));
  const auto setting = parse_setting("x[*] = -inf");
  ASSERT_TRUE(setting) << setting.error().message;
  EXPECT_EQ(setting->value, -HUGE_VAL);
  const auto times = parse_change("t7_h[0, 2] times 1e3 from step 12");
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->factor, 1000);
  EXPECT_EQ(times->step, 12);
  EXPECT_TRUE(times->later_too);
  const auto reads = parse_change("t5_h reads t3_h in place of t4_h");
  ASSERT_TRUE(reads) << reads.error().message;
  EXPECT_EQ(reads->read, "t3_h");
  EXPECT_EQ(reads->in_place_of, "t4_h");
  EXPECT_EQ(parse_change("h unwritten")->kind, PlantedChange::Kind::unwritten);
  for (const char* wrong : {"h", "h[0] times", "h[0] times x", "h[0] times 1 at step x", "h[a] times 1",
                            "h times 2", "h reads a", ""})
    EXPECT_FALSE(parse_change(wrong)) << wrong;
  for (const char* wrong : {"x[0]", "x = 3", "x[0] =", "x[0] = three", "[0] = 3", "x[] = 3"})
    EXPECT_FALSE(parse_setting(wrong)) << wrong;
}

TEST(Scenario, AListSaysWhereItIsWrong) {
  const auto message = [](const char* text) {
    const auto list = parse_scenarios(text, "list");
    return list ? std::string() : list.error().message;
  };
  const std::string whole =
      "scenario a\n what w\n case c\n finds not_finite\n op gemm\n cause overflow | 0 * inf\n";
  const auto list = parse_scenarios(whole, "list");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->front().causes, (std::vector<std::string>{"overflow", "0 * inf"}));
  EXPECT_EQ(message(("\xef\xbb\xbf" + whole).c_str()), "");
  EXPECT_EQ(message("case c\n"), "list:1: 'case' stands before the first scenario");
  EXPECT_NE(message("scenario a\n element 1, x\n").find("list:2: 'x' is no index"), std::string::npos);
  EXPECT_NE(message("scenario a\n what w\n case c\n").find("does not say what bisecting finds"),
            std::string::npos);
  EXPECT_NE(message("scenario a\n what w\n case c\n finds not_finite\n").find("names no op"),
            std::string::npos);
  EXPECT_NE(message((whole + "fault f\nplant h unwritten\n").c_str()).find("more than one of"),
            std::string::npos);
  EXPECT_NE(message((whole + whole).c_str()).find("a second scenario"), std::string::npos);
  // What a race may leave is open; whose kernel it is in is not.
  const std::string race =
      "scenario r\n what w\n fault f\n race 8\n finds not_finite | varies\n op a | b\n cause overflow\n";
  const auto races = parse_scenarios(race, "list");
  ASSERT_TRUE(races) << races.error().message;
  EXPECT_EQ(races->front().race_runs, 8);
  EXPECT_EQ(races->front().finds, (std::vector<std::string>{"not_finite", "varies"}));
  EXPECT_EQ(races->front().ops, (std::vector<std::string>{"a", "b"}));
  for (const char* wrong : {"scenario r\n what w\n fault f\n race 8\n finds varies\n", "element 1, 2\n",
                            "race 2.5\n", "race x\n"})
    EXPECT_NE(message((wrong[0] == 's' ? wrong : race + wrong).c_str()), "") << wrong;
}

TEST(Scenario, TheListThatShipsIsReadAndLongEnough) {
  std::ifstream file(PARITY_CASES "/bisect/scenarios.txt");
  std::ostringstream text;
  text << file.rdbuf();
  const auto list = parse_scenarios(text.str(), "scenarios.txt");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_GE(list->size(), 40U);
}

class Planted : public ::testing::Test {
 protected:
  Result<BisectReport> bisect(const std::string& text, const std::string& change) {
    wrong.emplace(*devices.front(), *parse_change(change));
    BisectOptions options;
    options.before_run = [this](std::int64_t step) { wrong->set_step(step); };
    return bisect_program(target(text, *wrong), options);
  }
  BisectTarget target(const std::string& text, Device& device) const {
    return {ops, stages, device, *parse_case(text, stages), "sequential_f32"};
  }

  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);
  std::vector<std::unique_ptr<Device>> devices = *make_cpu_backend(ops)->devices();
  std::optional<PlantedDevice> wrong;
};

TEST_F(Planted, OneElementOfOneTimestep) {
  const auto report = bisect("gru_sequence steps=9 batch=2 inputs=3 hidden=4", "t5_h[1, 3] times nan");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->producer);
  EXPECT_EQ(report->producer->tensor, "t5_h");
  EXPECT_EQ(report->producer->index, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(report->producer->examined.elements, 1);
}

TEST_F(Planted, AWrongBinding) {
  const std::string text = "gru_sequence steps=9 batch=2 inputs=3 hidden=4";
  const auto report = bisect(text, "t5_h reads t3_h in place of t4_h");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::out_of_contract);
  EXPECT_EQ(report->producer->place.timestep, 5);
  wrong.emplace(*devices.front(), *parse_change("t5_h reads t3_h in place of t4_h"));
  const auto parting = part(target(text, *wrong), target(text, *devices.front()), {}, 0, "t5_h");
  ASSERT_TRUE(parting) << parting.error().message;
  EXPECT_EQ(parting->call, report->producer->call);
  EXPECT_TRUE(parting->there[static_cast<std::size_t>(report->producer->examined.element)]);
  EXPECT_FALSE(part(target(text, *devices.front()), target(text, *devices.front()), {}, 0, "")->parts);
}

// From a step on, finite: the bisection of the steps goes back and forth, and the change with it.
TEST_F(Planted, FromAStepOn) {
  const auto report = bisect("training_step batch=1 seq=2 width=4 steps=9 optimizer=adamw",
                             "classifier.p_next[3, 1] times 1.01 from step 5");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, BisectReport::Kind::out_of_contract);
  EXPECT_EQ(report->producer->step, 5);
  EXPECT_EQ(report->producer->tensor, "classifier.p_next");
}

TEST_F(Planted, WhatIsNotThereIsNamed) {
  const auto report = bisect("gemm m=3 n=4 k=5", "d[0, 0] times nan");
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("no call of the program makes a tensor 'd'"), std::string::npos)
      << report.error().message;
  EXPECT_FALSE(bisect("gemm m=3 n=4 k=5", "D[3, 0] times nan"));
  EXPECT_FALSE(bisect("gemm m=3 n=4 k=5", "D reads A in place of B"));
}

}  // namespace
}  // namespace parity::bisecting
