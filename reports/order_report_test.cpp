#include "reports/order_report.hpp"

#include <gtest/gtest.h>

#include "reports/record_sample.hpp"

namespace parity {
namespace {

TEST(OrderReport, GathersExperimentsByDeviceOpAndPath) {
  Record one = sample_record(Verdict::pass), two = one, other = one;
  two.order.experiments[0].spread.max_range_ulp = 40;
  two.order.experiments[0].spread.bit_equal = true;
  other.device.id = "cpu:0";
  const std::vector<Record> records{one, two, other};
  const std::vector<OrderFigure> figures = order_figures(records);
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[1].file, "order_cpu-0.svg");
  const auto row = std::find_if(figures[0].rows.begin(), figures[0].rows.end(),
                                [](const OrderRow& r) { return r.what == "split 4"; });
  ASSERT_NE(row, figures[0].rows.end());
  EXPECT_EQ(row->cases, 2);
  EXPECT_EQ(row->same_bits, 1);
  EXPECT_EQ(row->max_ulp, 40);
  EXPECT_EQ(row->max_sigma, 0.75);
  const std::string markdown = order_markdown(figures, true);
  EXPECT_NE(markdown.find("](order_cpu-0.svg)"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("split 4 k | 2 | 1 | 40 | 0.75 |"), std::string::npos) << markdown;
  EXPECT_NE(figures[0].svg.find("split 4 k</text>"), std::string::npos);
  EXPECT_TRUE(figures[0].svg.ends_with("</svg>\n"));
}

TEST(OrderReport, NothingMeasuredSaysNothing) {
  Record record = sample_record(Verdict::unsupported);
  record.order = {};
  EXPECT_TRUE(order_figures(std::vector<Record>{record}).empty());
  EXPECT_EQ(order_markdown({}, true), "");
}

}  // namespace
}  // namespace parity
