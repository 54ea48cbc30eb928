#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace parity {

using AttributeValue = std::variant<std::int64_t, double, std::string>;

/// Named settings of an op call ("trans_a", "alpha", "activation"). A missing name reads as the fallback; a
/// name with a value of another type is a programming error of the stage and reads as the fallback too
/// (Op::infer checks types once).
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> values) : values_(values) {}

  void set(const std::string& name, AttributeValue value) { values_[name] = std::move(value); }
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const {
    return get<std::int64_t>(name, fallback);
  }
  double real(std::string_view name, double fallback = 0) const { return get<double>(name, fallback); }
  std::string text(std::string_view name, std::string fallback = {}) const {
    return get<std::string>(name, std::move(fallback));
  }
  const std::map<std::string, AttributeValue, std::less<>>& all() const { return values_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  template <class T>
  T get(std::string_view name, T fallback) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return fallback;
    const T* value = std::get_if<T>(&found->second);
    return value ? *value : fallback;
  }
  std::map<std::string, AttributeValue, std::less<>> values_;
};

}  // namespace parity
