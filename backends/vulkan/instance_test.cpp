#include "backends/vulkan/instance.hpp"

#include <gtest/gtest.h>

namespace parity::vulkan {
namespace {

TEST(ValidationMessages, AreAnErrorOnce) {
  ValidationMessages messages;
  EXPECT_TRUE(messages.take());
  messages.add("a hazard");
  messages.add("another");
  const auto taken = messages.take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::internal);
  EXPECT_EQ(taken.error().message, "the Vulkan validation layer has 2 message(s): a hazard\nanother");
  EXPECT_TRUE(messages.take());
}

TEST(ValidationMessages, ALayerThatDoesNotKnowAnExtensionIsSaidInOneLineFromThenOn) {
  ValidationMessages messages;
  messages.set_layer_version("1.3.239");
  messages.add("vkCreateDevice: pCreateInfo->pNext chain includes a structure with unknown VkStructureType");
  for (int i = 0; i < 2; ++i)
    messages.add(
        "Validation Warning: [ VUID_Undefined ] | Device Extension VK_KHR_cooperative_matrix is not "
        "supported "
        "by this layer.  Using this extension may adversely affect validation results");
  for (int i = 0; i < 2; ++i) {
    const auto taken = messages.take();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(taken.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(taken.error().message.starts_with(
        "the validation layer here is 1.3.239 and does not know VK_KHR_cooperative_matrix, which"))
        << taken.error().message;
    // What such a layer says of the shaders is of no use.
    messages.add("SPIR-V module not valid: Invalid capability operand: 6022");
  }
}

TEST(ValidationMessages, ANewerLayerSaysItInOtherWords) {
  ValidationMessages messages;
  messages.add(
      "vkCreateDevice(): pCreateInfo->ppEnabledExtensionNames[1] VK_KHR_shader_bfloat16 is not a known "
      "extension "
      "string. Please make sure the spelling is correct.");
  EXPECT_NE(messages.take().error().message.find("does not know VK_KHR_shader_bfloat16, which"),
            std::string::npos);
}

TEST(ValidationMessages, WhatTheLoaderAsksForIsNotOurs) {
  ValidationMessages messages;
  messages.add(
      "vkGetDeviceProcAddr(): pName is trying to grab "
      "vkGetPhysicalDeviceVideoEncodeQualityLevelPropertiesKHR "
      "which is an instance level function");
  EXPECT_TRUE(messages.take());
  messages.add("vkGetDeviceProcAddr(): device is not a valid handle");
  EXPECT_FALSE(messages.take());
}

TEST(ValidationMessages, OtherWordsAboutSupportAreMessages) {
  for (const char* text : {" is not supported by this layer", "it is not supported by this layer", "VK_X"}) {
    ValidationMessages messages;
    messages.add(text);
    EXPECT_EQ(messages.take().error().kind, ErrorKind::internal) << text;
  }
}

}  // namespace
}  // namespace parity::vulkan
