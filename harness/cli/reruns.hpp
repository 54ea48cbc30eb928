#pragma once
#include <map>
#include <optional>

#include "harness/ladder/record.hpp"

namespace parity::cli {

/// Cases that failed and are run again. The record of such a case is that of its first run; what came of the
/// others stands in it.
class Reruns {
 public:
  /// `most`: how often a case is run again, at most; it ends with the first run that does not fail.
  explicit Reruns(int most) : most_(most) {}

  /// What a run of an item came to. Gives the item's record, or nothing: it is to be run again.
  std::optional<Record> take(std::size_t item, Record record);
  /// Whether the item is being run again.
  bool again(std::size_t item) const { return first_.contains(item); }
  /// The records of items that were to be run again when the run ended.
  std::map<std::size_t, Record> rest();

 private:
  int most_;
  std::map<std::size_t, Record> first_;
};

}  // namespace parity::cli
