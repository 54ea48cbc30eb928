// A profile as JSON: what contracts need comes back, and what is no profile is refused by name.
#include "reports/profile_json.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/profile_text.hpp"

namespace parity {
namespace {

DeviceProfile small_profile() {
  DeviceProfile profile;
  profile.device = {"vulkan:0", "vulkan", "A \"device\"", "driver 1", "Vulkan 1.3", {}};
  profile.answers = {{"fp32", "subnormals", "a + b: result", "flushed", "may be flushed", ""},
                     {"fp32", "rounding", "a + b", "toward zero", "to nearest even", "a + b truncates"}};
  FunctionMeasure m;
  m.function = DeviceFunction::exp;
  m.arguments_text = "all fp32 numbers";
  m.exhaustive = true;
  m.arguments = 1 << 30;
  m.regular = 1000;
  m.worst = {-1.5, 0, 0.25, 0.2231301601, 4.25, 6};
  m.binades = {{0, true, 4.25, 1e-7}, {1, false, HUGE_VAL, 0.5}};
  m.subnormal_results = {10, 0, 9, 0, 1, {1, 0, 2, 3, 0, 0}};
  m.promise = vulkan_promise(DeviceFunction::exp, DType::f32);
  m.may_flush = true;
  m.breaks = 3;
  m.worst_break = m.worst;
  profile.functions = {m};
  profile.absent = {{DeviceFunction::tanh, DType::f16, "not here"}};
  return profile;
}

TEST(ProfileJson, WhatContractsNeedComesBack) {
  const DeviceProfile profile = small_profile();
  for (const int indent : {-1, 1}) {
    const std::string text = profile_json(profile, {}, indent);
    const auto read = parse_profile_json(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->device.name, profile.device.name);
    EXPECT_EQ(read->device.driver, profile.device.driver);
    ASSERT_EQ(read->answers.size(), 2u);
    EXPECT_EQ(read->answers[1].finding, "a + b truncates");
    ASSERT_EQ(read->functions.size(), 1u);
    const FunctionMeasure& m = read->functions[0];
    EXPECT_EQ(m.function, DeviceFunction::exp);
    EXPECT_TRUE(m.exhaustive);
    EXPECT_EQ(m.worst.ulp, 4.25);
    ASSERT_EQ(m.binades.size(), 2u);
    EXPECT_TRUE(m.binades[0].negative);
    EXPECT_EQ(m.binades[0].max_absolute, 1e-7);
    EXPECT_EQ(m.binades[1].max_ulp, HUGE_VAL);
    EXPECT_EQ(m.subnormal_results.flushed, 9);
    EXPECT_EQ(m.breaks, 3);
  }
}

TEST(ProfileJson, WhatIsNoProfileIsRefusedByName) {
  const auto refused = [](std::string_view text) {
    const auto read = parse_profile_json(text);
    return read ? std::string("taken") : read.error().message;
  };
  EXPECT_NE(refused("[1]").find("JSON object"), std::string::npos);
  EXPECT_NE(refused(R"({"kind": "probe"})").find("'kind' is 'probe'"), std::string::npos);
  EXPECT_NE(refused(R"({"kind": "device_profile", "schema": 99})").find("schema 99"), std::string::npos);
  const std::string whole = profile_json(small_profile(), {}), field = "\"exhaustive\": ";
  const std::size_t at = whole.find(field) + field.size();
  const std::string text = whole.substr(0, at) + "3" + whole.substr(at + 4);  // for true
  EXPECT_NE(refused(text).find("'exhaustive'"), std::string::npos) << refused(text);
}

TEST(ProfileText, NamesFindingsWithTheirArgument) {
  const std::string text = profile_text(small_profile());
  EXPECT_NE(text.find("FINDING: a + b truncates"), std::string::npos) << text;
  EXPECT_NE(text.find("3 of 1000 arguments beyond 3 + 2|x| ULP, worst exp(-1.5) (-0x1.8p+0) = 0.25"),
            std::string::npos)
      << text;
  EXPECT_NE(profile_markdown(small_profile()).find("3 + 2\\|x\\| ULP"), std::string::npos);
}

}  // namespace
}  // namespace parity
