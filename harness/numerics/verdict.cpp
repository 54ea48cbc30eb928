#include "harness/numerics/verdict.hpp"

#include <array>
#include <cstddef>

namespace parity {
namespace {

struct Entry {
  Verdict verdict;
  std::string_view name;
  int gravity;
};

constexpr std::array<Entry, 8> entries{{
    {Verdict::pass, "pass", 0},
    {Verdict::fail, "fail", 5},
    {Verdict::suspect, "suspect", 4},
    {Verdict::drift, "drift", 3},
    {Verdict::unsupported, "unsupported", 1},
    {Verdict::untrusted, "untrusted", 2},
    {Verdict::crash, "crash", 7},
    {Verdict::timeout, "timeout", 6},
}};

const Entry& entry_of(Verdict verdict) {
  for (const Entry& entry : entries) {
    if (entry.verdict == verdict) return entry;
  }
  return entries[6];  // not an enumerator: nothing that could be taken for a pass
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  return entry_of(verdict).name;
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  for (const Entry& entry : entries) {
    if (entry.name == text) return entry.verdict;
  }
  return std::nullopt;
}

bool is_failure(Verdict verdict) {
  return verdict == Verdict::fail || verdict == Verdict::suspect || verdict == Verdict::drift ||
         verdict == Verdict::crash || verdict == Verdict::timeout;
}

Verdict worse(Verdict a, Verdict b) {
  return entry_of(a).gravity >= entry_of(b).gravity ? a : b;
}

}  // namespace parity
