// LogicalDevice's pipelines: one per distinct request, layouts shared by the number of buffers.
#include <fmt/format.h>

#include "backends/vulkan/logical_device.hpp"

namespace parity::vulkan {

Result<LogicalDevice::Layout> LogicalDevice::layout(std::uint32_t bindings) {
  for (const Layout& known : layouts_)
    if (known.bindings == bindings) return known;
  std::vector<VkDescriptorSetLayoutBinding> list(bindings);
  for (std::uint32_t i = 0; i < bindings; ++i) {
    list[i].binding = i;
    list[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    list[i].descriptorCount = 1;
    list[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  Layout made;
  made.bindings = bindings;
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = bindings;
  set.pBindings = list.data();
  VkResult result = vk_.vkCreateDescriptorSetLayout(device_, &set, nullptr, &made.set);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateDescriptorSetLayout", result);
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_constant_bytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &made.set;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  result = vk_.vkCreatePipelineLayout(device_, &info, nullptr, &made.pipeline);
  if (result != VK_SUCCESS) {
    vk_.vkDestroyDescriptorSetLayout(device_, made.set, nullptr);
    return vulkan_error("vkCreatePipelineLayout", result);
  }
  layouts_.push_back(made);
  return made;
}

Result<LogicalDevice::Pipeline> LogicalDevice::pipeline(const PipelineRequest& request) {
  for (const auto& [known, made] : pipelines_)
    if (known == request) return made;
  auto layouts = layout(request.bindings);
  if (!layouts) return tl::unexpected(layouts.error());
  auto words = make_variant(shaders_(request.shader), request.modes, request.bfloat16);
  if (!words) return tl::unexpected(words.error());

  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words->size() * sizeof(std::uint32_t);
  module_info.pCode = words->data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = vk_.vkCreateShaderModule(device_, &module_info, nullptr, &module);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateShaderModule", result);

  std::vector<VkSpecializationMapEntry> entries;
  std::vector<std::uint32_t> values;
  for (const SpecializationConstant& constant : request.constants) {
    entries.push_back({constant.id, static_cast<std::uint32_t>(values.size() * sizeof(std::uint32_t)),
                       sizeof(std::uint32_t)});
    values.push_back(constant.value);
  }
  VkSpecializationInfo specialization{};
  specialization.mapEntryCount = static_cast<std::uint32_t>(entries.size());
  specialization.pMapEntries = entries.data();
  specialization.dataSize = values.size() * sizeof(std::uint32_t);
  specialization.pData = values.data();

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroup.requiredSubgroupSize = request.subgroup_size;
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialization;
  if (request.subgroup_size) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.pNext = &subgroup;
  }
  info.layout = layouts->pipeline;
  Pipeline made{VK_NULL_HANDLE, layouts->pipeline, layouts->set};
  result = vk_.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &made.pipeline);
  vk_.vkDestroyShaderModule(device_, module, nullptr);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateComputePipelines", result);
  pipelines_.emplace_back(request, made);
  return made;
}

}  // namespace parity::vulkan
