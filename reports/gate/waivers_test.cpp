#include "reports/gate/waivers.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace parity {
namespace {

TEST(Waivers, AreReadWithTheirPlace) {
  const auto waivers = parse_waivers(
      R"({"waivers": [{"reason": "a", "expires": "2027-01-31"},
                      {"case": "gemm*", "kind": "bits", "vendor": "nvidia", "driver_from": "570", "driver_below": "580.1",
                       "reason": "b", "expires": "2027-02-01"}]})",
      "w.json");
  ASSERT_TRUE(waivers) << waivers.error().message;
  ASSERT_EQ(waivers->size(), 2u);
  EXPECT_EQ(waivers->at(1).line, 2);
  EXPECT_TRUE(waivers->at(1).fits("bits", "gemm m=3", "any"));
  EXPECT_FALSE(waivers->at(1).fits("drift", "gemm m=3", "any"));
  EXPECT_FALSE(waivers->at(1).fits("bits", "linear m=3", "any"));
  EXPECT_TRUE(waivers->at(1).expired("2027-02-01"));
  EXPECT_FALSE(waivers->at(1).expired("2027-01-31"));
  DeviceInfo device{"cuda:0", "cuda", "NVIDIA H200", "570.86.15", "", {}};
  EXPECT_TRUE(waivers->at(1).fits(device));
  device.driver = "580.1";
  EXPECT_FALSE(waivers->at(1).fits(device));
  device = {"vulkan:0", "vulkan", "Other", "570.9", "", {}};
  EXPECT_FALSE(waivers->at(1).fits(device));
}

TEST(Waivers, DriversLieInRanges) {
  EXPECT_TRUE(driver_in_range("NVIDIA 570.86.15", "570.86", "571"));
  EXPECT_TRUE(driver_in_range("Mesa 22.3.6 (LLVM 15.0.6)", "22.3", "22.4"));
  EXPECT_FALSE(driver_in_range("Mesa 22.3.6", "22.10", ""));  // numbers, not letters
  EXPECT_FALSE(driver_in_range("570.86", "", "570.86"));
  EXPECT_TRUE(driver_in_range("570.86", "570.86", ""));
  EXPECT_FALSE(driver_in_range("nightly", "1", ""));
  EXPECT_TRUE(driver_in_range("nightly", "", ""));
}

TEST(Waivers, MistakesAreNamed) {
  const auto message = [](const std::string& entry) {
    const auto read = parse_waivers(R"({"waivers": [)" + entry + "]}", "w.json");
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_NE(message(R"({"expires": "2027-01-01"})").find("waiver 1: it needs a 'reason'"), std::string::npos);
  EXPECT_NE(message(R"({"reason": "a"})").find("'expires'"), std::string::npos);
  EXPECT_NE(message(R"({"reason": "a", "expires": "2027-13-01"})").find("'expires'"), std::string::npos);
  EXPECT_NE(message(R"({"reason": "a", "expires": "soon"})").find("'expires'"), std::string::npos);
  EXPECT_NE(
      message(R"({"reason": "a", "expires": "2027-02-30"})").find("waiver 1: 'expires' is '2027-02-30'"),
      std::string::npos);
  EXPECT_EQ(message(R"({"reason": "a", "expires": "2028-02-29"})"), "no error");
  EXPECT_NE(message(R"({"reason": " \t\n", "expires": "2027-01-01"})").find("waiver 1: it needs a 'reason'"),
            std::string::npos);
  for (const char* below : {"570.86", "570.9", "569"})
    EXPECT_NE(
        message(
            fmt::format(
                R"({{"reason": "a", "expires": "2027-01-01", "driver_from": "570.86", "driver_below": "{}"}})",
                below))
            .find(fmt::format("waiver 1: 'driver_from' is '570.86' and 'driver_below' is '{}'", below)),
        std::string::npos)
        << below;
  EXPECT_NE(message(R"({"reson": "a"})").find("'reson'"), std::string::npos);
  EXPECT_NE(message(R"({"reason": 3})").find("should be a text"), std::string::npos);
  EXPECT_NE(message(R"({"reason": "a", "expires": "2027-01-01", "driver_from": "new"})").find("no version"),
            std::string::npos);
  EXPECT_NE(message(R"({"reason": "a", "expires": "2027-01-01", "kind": "lost_case"})")
                .find("no kind of finding 'lost_case'; there are: contract, lost path, lost case"),
            std::string::npos);
  EXPECT_EQ(message(R"({"reason": "a", "expires": "2027-01-01", "kind": "lost *"})"), "no error");
  EXPECT_NE(message("3").find("object"), std::string::npos);
  EXPECT_FALSE(parse_waivers("[]", "w.json"));
  EXPECT_FALSE(parse_waivers("{\"waivers\"", "w.json"));
  EXPECT_FALSE(read_waivers("/nonexistent/w.json"));
}

}  // namespace
}  // namespace parity
