#include "harness/ladder/stages/ladder_stages.hpp"

#include <fmt/format.h>

namespace parity {

bool takes_real_only(Composer& composer, const Case& c) {
  const DType real = composer.real();
  if (c.input == real && c.accumulate == real && c.store == real) return true;
  composer.fail_with(
      {ErrorKind::bad_input,
       fmt::format("{} has no product that could take a narrow format: in={} acc={} out={}; there is in=f32 "
                   "acc=f32 out=f32 and in=f64 acc=f64 out=f64",
                   c.stage, name_of(c.input), name_of(c.accumulate), name_of(c.store))});
  return false;
}

Content factor_content() {
  Content content;
  content.role = FillRole::left;
  content.axis = 1;
  return content;
}

Parameter count_parameter(std::string_view name, std::int64_t most, std::string_view help) {
  return {name, std::int64_t{1}, true, 1, static_cast<double>(most), {}, help};
}

}  // namespace parity
