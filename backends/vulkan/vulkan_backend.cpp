#include "backends/vulkan/vulkan_backend.hpp"

#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"
#include "backends/vulkan/session.hpp"

namespace parity::vulkan {

namespace {

/// The op families, hand-listed; a new one adds its line here.
std::vector<std::unique_ptr<const KernelFamily>> make_families() {
  std::vector<std::unique_ptr<const KernelFamily>> families;
  families.push_back(make_gemm_family());
  families.push_back(make_elementwise_family());
  families.push_back(make_recurrent_family());
  families.push_back(make_row_family());
  families.push_back(make_attention_family());
  families.push_back(make_loss_family());
  families.push_back(make_embedding_family());
  families.push_back(make_reduction_family());
  families.push_back(make_optimizer_family());
  families.push_back(make_device_function_family());
  families.push_back(make_trace_family());
  return families;
}

class VulkanDevice final : public Device {
 public:
  VulkanDevice(std::shared_ptr<Instance> instance, VkPhysicalDevice physical, Capabilities capabilities,
               std::size_t index, double timeout_seconds, ShaderSource shaders)
      : instance_(std::move(instance)),
        physical_(physical),
        capabilities_(std::move(capabilities)),
        info_(describe(capabilities_, index)),
        timeout_seconds_(timeout_seconds),
        shaders_(std::move(shaders)),
        families_(make_families()) {
    for (std::size_t f = 0; f < families_.size(); ++f) {
      for (Implementation& implementation : families_[f]->implementations(capabilities_)) {
        implementations_.push_back(std::move(implementation));
        family_of_.push_back(f);
      }
    }
  }

  const DeviceInfo& info() const override { return info_; }
  const std::vector<Implementation>& implementations() const override { return implementations_; }

  Support supports(const Implementation& implementation) const override {
    const KernelFamily* family = find_family(implementation);
    if (!family) return not_ours(implementation);
    return family->supports(capabilities_, implementation);
  }

  Support supports(const Implementation& implementation, const OpCall& call,
                   const Program& program) const override {
    const KernelFamily* family = find_family(implementation);
    if (!family) return not_ours(implementation);
    if (Support match = matches_precision(implementation, call, program); !match.legal()) return match;
    if (Support legal = family->supports(capabilities_, implementation); !legal.legal()) return legal;
    return family->supports(capabilities_, implementation, call, program);
  }

  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override {
    if (paths.size() != program.calls.size())
      return fail(ErrorKind::internal,
                  fmt::format("{} paths for {} calls", paths.size(), program.calls.size()));
    std::vector<std::vector<Dispatch>> calls;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const OpCall& call = program.calls[i];
      const auto index = find_implementation(call.op, paths[i]);
      if (!index)
        return fail(ErrorKind::unsupported,
                    fmt::format("{} has no path '{}' for {}", info_.id, paths[i], call.op));
      const Implementation& implementation = implementations_[*index];
      if (const Support support = supports(implementation, call, program); !support.legal())
        return fail(ErrorKind::unsupported, fmt::format("{} of {}: {}", paths[i], call.op, support.reason));
      auto planned = families_[family_of_[*index]]->plan(capabilities_, implementation, call, program);
      if (!planned) return tl::unexpected(planned.error());
      calls.push_back(*std::move(planned));
    }
    auto device = logical_device();
    if (!device) return tl::unexpected(device.error());
    return VulkanSession::load(*device, program, calls);
  }

 private:
  std::optional<std::size_t> find_implementation(std::string_view op, std::string_view path) const {
    for (std::size_t i = 0; i < implementations_.size(); ++i)
      if (implementations_[i].op == op && implementations_[i].path == path) return i;
    return std::nullopt;
  }
  const KernelFamily* find_family(const Implementation& implementation) const {
    const auto index = find_implementation(implementation.op, implementation.path);
    return index ? families_[family_of_[*index]].get() : nullptr;
  }
  Support not_ours(const Implementation& implementation) const {
    return {Support::Kind::not_applicable,
            fmt::format("{} has no path '{}' for {}", info_.id, implementation.path, implementation.op)};
  }
  /// Created when first needed, and again after the last one died.
  Result<std::shared_ptr<LogicalDevice>> logical_device() {
    if (logical_ && !logical_->dead()) return logical_;
    auto created = LogicalDevice::create(instance_, physical_, capabilities_, timeout_seconds_, shaders_);
    if (created) logical_ = *created;
    return created;
  }

  std::shared_ptr<Instance> instance_;
  VkPhysicalDevice physical_;
  Capabilities capabilities_;
  DeviceInfo info_;
  double timeout_seconds_;
  ShaderSource shaders_;
  std::vector<std::unique_ptr<const KernelFamily>> families_;
  std::vector<Implementation> implementations_;
  std::vector<std::size_t> family_of_;
  std::shared_ptr<LogicalDevice> logical_;
};

class VulkanBackend final : public Backend {
 public:
  VulkanBackend(const BackendOptions& options, ShaderSource shaders)
      : options_(options), shaders_(std::move(shaders)) {}
  std::string_view name() const override { return "vulkan"; }

  Result<std::vector<std::unique_ptr<Device>>> devices() override {
    auto instance = Instance::create(options_.validate);
    if (!instance) return tl::unexpected(instance.error());
    auto physical = (*instance)->physical_devices();
    if (!physical) return tl::unexpected(physical.error());
    std::vector<std::unique_ptr<Device>> devices;
    for (std::size_t i = 0; i < physical->size(); ++i) {
      auto capabilities = query_capabilities(**instance, (*physical)[i]);
      if (!capabilities) return tl::unexpected(capabilities.error());
      devices.push_back(std::make_unique<VulkanDevice>(*instance, (*physical)[i], std::move(*capabilities), i,
                                                       options_.timeout_seconds, shaders_));
    }
    if (auto ok = (*instance)->messages().take(); !ok) return tl::unexpected(ok.error());
    return devices;
  }

 private:
  BackendOptions options_;
  ShaderSource shaders_;
};

}  // namespace

std::unique_ptr<Backend> make_vulkan_backend(const BackendOptions& options, ShaderSource shaders) {
  return std::make_unique<VulkanBackend>(options, std::move(shaders));
}

}  // namespace parity::vulkan
