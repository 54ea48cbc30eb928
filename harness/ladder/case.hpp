#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/ladder/attributes.hpp"
#include "harness/tensor/fill.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// One setting a stage takes in case text: `m=64`, `alpha=0.5`, `activation=tanh`.
struct Parameter {
  std::string_view name;
  AttributeValue fallback;                     ///< its alternative is the parameter's type
  bool required = false;                       ///< always printed, must be given
  double least = 0, most = 0;                  ///< of a number, inclusive
  std::vector<std::string_view> choices = {};  ///< of a text
  std::string_view help = {};
};

/// A stage with its dimensions, precision, fill and seed. Its canonical text is the repro line:
///   gemm m=64 n=63 k=588 ta=t alpha=0.5 in=f16 acc=f32 out=f16 fill=normal seed=7
/// Integers are in=i8 acc=i32 out=i32, of rungs that have them (Stage::check_integers).
/// Stage first, then the stage's parameters in declared order (required ones, and others that differ from
/// their fallback), then in, acc, out, fill, seed, always.
struct Case {
  std::string stage;
  Attributes parameters;  ///< every parameter of the stage, fallbacks filled in
  DType input = DType::f32, accumulate = DType::f32, store = DType::f32;
  Fill fill = Fill::normal;
  std::uint64_t seed = 1;
  friend bool operator==(const Case&, const Case&) = default;
};

class StageTable;

/// Canonical text; parse_case(print_case(c)) == c for every case that parse_case can return.
std::string print_case(const Case& c, const StageTable& stages);
/// One case. The error names the word, what it has and what it may be (nearest name suggested).
Result<Case> parse_case(std::string_view text, const StageTable& stages);
/// A pattern: a case text whose values may be lists `{a,b,c}` or ranges `{1..3}`; words in any order, missing
/// in, acc, out, fill, seed take f32, f32, the input's dtype, normal, 1; acc and out of in=i8 i32. Expands to
/// the cartesian product, last word fastest. `#` starts a comment; an empty line expands to nothing.
Result<std::vector<Case>> expand_pattern(std::string_view line, const StageTable& stages);
/// A suite file: one pattern a line; the error names file and line. Duplicates are kept once.
Result<std::vector<Case>> parse_suite(std::string_view text, const std::string& name,
                                      const StageTable& stages);

}  // namespace parity
