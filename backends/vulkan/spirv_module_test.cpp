#include "backends/vulkan/spirv_module.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/vulkan/shader_library.hpp"

namespace parity::vulkan {
namespace {

constexpr Shader all_shaders[] = {Shader::naive_f32,     Shader::naive_f32_storage16,
                                  Shader::tiled_f32,     Shader::tiled_f32_storage16,
                                  Shader::tiled_f16,     Shader::tiled_i8,
                                  Shader::coopmat_16bit, Shader::coopmat_f16,
                                  Shader::coopmat_i8,    Shader::coopmat_i8_vectors_of_8};

/// How often an instruction whose first words are these stands in a module.
int count(const std::vector<std::uint32_t>& words, std::uint32_t opcode,
          std::vector<std::uint32_t> operands) {
  int found = 0;
  for (std::size_t i = 5; i < words.size(); i += words[i] >> 16) {
    if ((words[i] & 0xffff) != opcode || (words[i] >> 16) <= operands.size()) continue;
    if (std::equal(operands.begin(), operands.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1))
      ++found;
  }
  return found;
}

/// spirv-val's word on a module: 0 valid.
int validate(const std::vector<std::uint32_t>& words, const std::string& name) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("parity_variant_" + name + ".spv");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof(std::uint32_t)));
  const std::string command =
      std::string(PARITY_SPIRV_VAL) + " --target-env vulkan1.2 " + file.string() + " > /dev/null 2>&1";
  const int result = std::system(command.c_str());
  std::filesystem::remove(file);
  return result;
}

TEST(SpirvModule, DeclaresTheModesAndStaysValid) {
  const bool has_validator = std::filesystem::exists(PARITY_SPIRV_VAL);
  FloatModes modes;
  modes.denorm_preserve = modes.rte = modes.signed_zero_inf_nan = FloatModes::width16 | FloatModes::width32;
  int index = 0;
  for (const Shader shader : all_shaders) {
    const auto variant = make_variant(spirv_of(shader), modes, false);
    ASSERT_TRUE(variant) << variant.error().message;
    EXPECT_EQ(count(*variant, 17, {4464}), 1);  // capability DenormPreserve
    EXPECT_EQ(count(*variant, 17, {4466}), 1);  // capability SignedZeroInfNanPreserve
    EXPECT_EQ(count(*variant, 17, {4467}), 1);  // capability RoundingModeRTE
    int declared = 0;
    for (std::uint32_t id = 1; id < (*variant)[3]; ++id) declared += count(*variant, 16, {id, 4459, 32});
    EXPECT_EQ(declared, 1);
    if (has_validator) {
      EXPECT_EQ(validate(*variant, "modes" + std::to_string(index++)), 0);
    }
  }
  if (!has_validator) GTEST_SKIP() << "declarations are right; spirv-val is not here: " << PARITY_SPIRV_VAL;
}

TEST(SpirvModule, WithoutModesNothingChanges) {
  const auto original = spirv_of(Shader::tiled_f32);
  const auto variant = make_variant(original, FloatModes{}, false);
  ASSERT_TRUE(variant);
  EXPECT_TRUE(std::equal(original.begin(), original.end(), variant->begin(), variant->end()));
}

TEST(SpirvModule, Bfloat16TwinHasItsTypeAndCapabilities) {
  const auto twin = make_variant(spirv_of(Shader::coopmat_16bit), FloatModes{}, true);
  ASSERT_TRUE(twin) << twin.error().message;
  EXPECT_EQ(count(*twin, 17, {9}), 0);     // Float16
  EXPECT_EQ(count(*twin, 17, {5116}), 1);  // BFloat16TypeKHR
  EXPECT_EQ(count(*twin, 17, {5118}), 1);  // BFloat16CooperativeMatrixKHR
  int types = 0;
  for (std::uint32_t id = 1; id < (*twin)[3]; ++id) types += count(*twin, 22, {id, 16, 0});
  EXPECT_EQ(types, 1);
  if (!PARITY_SPIRV_VAL_KNOWS_BFLOAT16)
    GTEST_SKIP() << "this build's spirv-val does not know SPV_KHR_bfloat16";
  EXPECT_EQ(validate(*twin, "bfloat16"), 0);
}

TEST(SpirvModule, RefusesWhatItCannotChange) {
  EXPECT_FALSE(make_variant({}, FloatModes{}, false));
  std::vector<std::uint32_t> words(spirv_of(Shader::tiled_f32).begin(), spirv_of(Shader::tiled_f32).end());
  EXPECT_FALSE(make_variant(words, FloatModes{}, true)) << "there is no 16-bit type to change";
  words[5] = 0;  // an instruction of length 0
  EXPECT_FALSE(make_variant(words, FloatModes{}, false));
  words[5] = 0xffff0011;  // one longer than the module
  EXPECT_FALSE(make_variant(words, FloatModes{}, false));
}

TEST(SpirvModule, ModesFollowTheDriversTies) {
  Capabilities c;
  c.controls16.denorm_preserve = true;
  c.denorm_independence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  EXPECT_EQ(choose_float_modes(c, true).denorm_preserve, FloatModes::width16);
  EXPECT_EQ(choose_float_modes(c, false).denorm_preserve, 0);
  c.denorm_independence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
  EXPECT_EQ(choose_float_modes(c, true).denorm_preserve, 0) << "16 and 64 bit must agree";
  c.controls64.denorm_preserve = true;
  EXPECT_EQ(choose_float_modes(c, true).denorm_preserve, FloatModes::width16 | FloatModes::width64);
  c.denorm_independence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  EXPECT_EQ(choose_float_modes(c, true).denorm_preserve, 0) << "all widths or none";
  c.controls32.denorm_preserve = true;
  EXPECT_EQ(choose_float_modes(c, false).denorm_preserve,
            FloatModes::width16 | FloatModes::width32 | FloatModes::width64);
}

}  // namespace
}  // namespace parity::vulkan
