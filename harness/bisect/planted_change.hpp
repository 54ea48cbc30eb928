#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/restated_device.hpp"

namespace parity {

/// "NAME[3, *]": elements of a tensor; '*' stands for every place along its dimension.
struct ElementPlace {
  std::string tensor;
  std::vector<std::optional<std::int64_t>> index;
};
Result<ElementPlace> parse_place(std::string_view text);
/// Row-major elements of a tensor of `shape`; an error where the place does not fit it.
Result<std::vector<std::int64_t>> elements_at(const ElementPlace& place, const Shape& shape);

/// What goes wrong at one result of a program, with the kernels as they are:
///   h[0, 3] times nan [at step 12]     the elements are multiplied; "from step 12": in all from there on
///   h unwritten                        the call writes elsewhere
///   h reads p in place of q            a wrong binding
struct PlantedChange {
  enum class Kind : std::uint8_t { times, unwritten, reads } kind = Kind::times;
  ElementPlace place;  ///< of `times`; else the tensor alone
  double factor = 1;
  std::optional<std::int64_t> step;  ///< of `times`: in this one
  bool later_too = false;            ///< and in all that follow
  std::string read, in_place_of;
};
Result<PlantedChange> parse_change(std::string_view text);

/// A device whose first program that has the tensor goes wrong there. All is done on the device beneath, by
/// its own kernels: a `mul` behind the call, or another binding of the call. That device must outlive this.
class PlantedDevice final : public RestatedDevice {
 public:
  PlantedDevice(Device& device, PlantedChange change) : RestatedDevice(device), change_(std::move(change)) {}
  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override;
  /// The step that runs next.
  void set_step(std::int64_t step) { step_ = step; }
  bool planted() const { return planted_; }

 private:
  PlantedChange change_;
  std::int64_t step_ = 0;
  bool planted_ = false;
};

}  // namespace parity
