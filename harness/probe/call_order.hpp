#pragma once
#include <map>
#include <string>

#include "harness/ladder/call_judge.hpp"
#include "harness/numerics/reveal_tree.hpp"

namespace parity {

/// Orders of summation of single calls, asked of their devices and remembered.
///
/// A vendor's library chooses a kernel by the shape, so that no list of candidates covers it: what is left of
/// K that no tile takes, parts of K on several processors, alignment. The call's product is asked with its
/// own shapes, strides, transpositions and formats, alpha = 1 and nothing added, by masks in the rows of its
/// left or the columns of its right factor, whichever are more.
class CallOrders {
 public:
  explicit CallOrders(RevealOptions options = {}) : options_(options) {}
  /// The models of the revealed order (models_of_tree). Without models, the note says why: no product, too
  /// many questions for its few rows, no single order.
  ConfirmedModels of(Device& device, const FinishedCall& call);

 private:
  RevealOptions options_;
  std::map<std::string, ConfirmedModels> known_;
};

/// For RunOptions::reveal.
RevealOrder make_reveal_order();

}  // namespace parity
