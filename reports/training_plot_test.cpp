#include "reports/training_plot.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/markdown.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

Record training(const std::string& device, std::vector<double> losses,
                std::vector<double> reference = {4, 2, 1}) {
  Record record = sample_record(Verdict::pass);
  record.case_text = "training_step batch=2 steps=3 seed=1";
  record.stage = "training_step";
  record.path = "tiled_f32";
  record.device.id = device;
  record.device.name = "Device <of> " + device;
  record.trajectories = {{"gradient_norm", {9, 9, 9}, {9, 9, 9}},
                         {"loss", std::move(losses), std::move(reference)}};
  return record;
}

TEST(TrainingFigures, DevicesOfSeveralRecordsShareOnePlotPerCase) {
  Record other = training("vulkan:0", {4, 3, 2});
  other.case_text = "training_step batch=9 steps=3 seed=1";
  const auto figures = training_figures(std::vector<Record>{
      training("vulkan:0", {4, 2.002, 1}), other, training("cuda:0", {4, 2, 1.001}), sample_record()});
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].file, "training_loss.svg");
  EXPECT_EQ(figures[1].file, "training_loss_2.svg");
  ASSERT_EQ(figures[0].curves.size(), 2u);
  const TrainingCurve& vulkan = figures[0].curves[0];
  EXPECT_EQ(vulkan.label, "vulkan:0 Device <of> vulkan:0, tiled_f32");
  EXPECT_EQ(vulkan.steps, 3u);
  EXPECT_EQ(vulkan.last, 1);
  EXPECT_NEAR(vulkan.worst_difference.value(), 0.001, 1e-12);
  EXPECT_EQ(vulkan.worst_step, 1u);
  EXPECT_EQ(figures[0].curves[1].worst_step, 2u);
  for (const char* part : {"vulkan:0 Device &lt;of&gt; vulkan:0, tiled_f32", "cuda:0", "CPU reference, fp64",
                           "relative difference", "training_step batch=2"})
    expect_holds(figures[0].svg, part);
  EXPECT_EQ(figures[0].svg.find("batch=9"), std::string::npos);
}

TEST(TrainingFigures, ALossThatIsNoNumberIsSaid) {
  const auto figures =
      training_figures(std::vector<Record>{training("vulkan:0", {4, std::nan(""), std::nan("")})});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].curves[0].not_finite, 2u);
  EXPECT_EQ(figures[0].curves[0].worst_difference, 0);
  expect_holds(figures[0].svg, "loss is not finite in 2 of 3 values, the first at step 1");
  expect_holds(training_markdown(figures, false), "| 3 (2 not finite) | 4 | nan | 1 | 0 | 0 |");
}

TEST(TrainingFigures, RunsOfOneDeviceAreNumberedAndFailuresNamed) {
  Record failed = training("vulkan:0", {4, 2, 1});
  failed.verdict = Verdict::fail;
  const auto figures = training_figures(
      std::vector<Record>{training("vulkan:0", {4, 2, 1}), training("vulkan:0", {4, 2, 1}), failed});
  ASSERT_EQ(figures.at(0).curves.size(), 3u);
  EXPECT_EQ(figures[0].curves[1].label, "vulkan:0 Device <of> vulkan:0, tiled_f32 (2)");
  EXPECT_EQ(figures[0].curves[2].label, "vulkan:0 Device <of> vulkan:0, tiled_f32 (fail)");
}

TEST(TrainingFigures, AShorterReferenceIsTakenAsFarAsItGoes) {
  const auto figures = training_figures(std::vector<Record>{training("vulkan:0", {4, 2, 8}, {4, 1})});
  EXPECT_EQ(figures.at(0).curves[0].worst_difference, 1);
  EXPECT_TRUE(training_figures(std::vector<Record>{training("vulkan:0", {}, {})}).empty());
}

TEST(TrainingFigures, MarkdownShowsTheImageOnlyWhereItLies) {
  const std::vector<Record> records = {training("vulkan:0", {4, 2.002, 1})};
  expect_holds(to_markdown(records, {.images = true}), "](training_loss.svg)");
  const std::string plain = to_markdown(records);
  EXPECT_EQ(plain.find(".svg"), std::string::npos);
  expect_holds(plain, "| vulkan:0 Device \\<of> vulkan:0, tiled\\_f32 | 3 | 4 | 1 | 1 | 0.001 | 1 |");
  EXPECT_EQ(to_markdown(std::vector<Record>{sample_record()}, {.images = true}).find("## Training"),
            std::string::npos);
}

}  // namespace
}  // namespace parity
