#include "fuzz/targets.hpp"
#include "harness/ladder/case.hpp"
#include "harness/ladder/stage.hpp"

namespace parity::fuzz {

std::string case_text(std::span<const std::byte> bytes) {
  const StageTable stages = make_stage_table(OpTable({}));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto parsed = parse_case(text, stages);
  if (!parsed) return parsed.error().message.empty() ? "an error without a message" : "";
  const std::string printed = print_case(*parsed, stages);
  const auto again = parse_case(printed, stages);
  if (!again) return "the canonical text '" + printed + "' is refused: " + again.error().message;
  if (!(*again == *parsed)) return "the canonical text '" + printed + "' means another case";
  if (print_case(*again, stages) != printed) return "the canonical text '" + printed + "' is not canonical";
  return "";
}

}  // namespace parity::fuzz
