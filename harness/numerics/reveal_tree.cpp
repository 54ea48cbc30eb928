#include "harness/numerics/reveal_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "harness/tensor/random.hpp"

namespace parity {
namespace {

using Outcome = Revelation::Outcome;

/// A set of terms whose order is asked by one pivot: every other term's count with it says where it joins.
struct Task {
  std::vector<std::int64_t> terms;
  std::int64_t joins = 0;  ///< leaves of the node where this set joins the rest (0: it is everything)
  std::int64_t pivot = 0;
  struct Group {
    std::int64_t leaves;  ///< of the node where the pivot's side and this group meet
    std::size_t task;
  };
  std::vector<Group> groups;  ///< by ascending leaves
};

struct Refusal {
  Outcome outcome;
  std::string why;
};

/// One pass. Sets are worked on level by level, so that all questions of a level go to the device together.
class Pass {
 public:
  Pass(std::int64_t terms, const LeafCounts& counts, const RevealOptions& options, std::uint64_t seed)
      : terms_(terms), counts_(counts), options_(options), seed_(seed) {}

  Result<std::optional<SummationTree>> run() {
    Task whole;
    whole.terms.resize(static_cast<std::size_t>(terms_));
    std::iota(whole.terms.begin(), whole.terms.end(), std::int64_t{0});
    tasks_.push_back(std::move(whole));
    for (std::size_t first = 0; first < tasks_.size();) {
      const std::size_t last = tasks_.size();
      auto went_on = level(first, last);
      if (!went_on) return tl::unexpected(went_on.error());
      if (refusal) return std::optional<SummationTree>{};
      first = last;
    }
    return assemble();
  }

  std::optional<Refusal> refusal;
  std::int64_t questions = 0;

 private:
  std::size_t random(std::size_t below) {
    const PhiloxBlock block = philox(seed_, drawn_++, 0x7069766f);  // "pivo": a counter of its own
    return static_cast<std::size_t>(block.word[0]) % below;
  }

  Result<void> level(std::size_t first, std::size_t last) {
    std::vector<TermPair> pairs;
    for (std::size_t i = first; i < last; ++i) {
      Task& task = tasks_[i];
      // A chain is halved by a pivot in its middle, and taken term by term from its ends: hence at random.
      task.pivot = task.terms[random(task.terms.size())];
      for (const std::int64_t term : task.terms)
        if (term != task.pivot) pairs.push_back({task.pivot, term});
    }
    if (pairs.empty()) return {};
    asked_ += static_cast<std::int64_t>(pairs.size());
    if (asked_ > options_.most_questions)
      return fail(ErrorKind::unsupported,
                  fmt::format("revealing a sum of {} terms takes more than {} questions; choose fewer terms",
                              terms_, options_.most_questions));
    auto answers = ask(pairs);
    if (!answers) return tl::unexpected(answers.error());
    if (refusal) return {};
    std::size_t at = 0;
    for (std::size_t i = first; i < last && !refusal; ++i) {
      const std::size_t size = tasks_[i].terms.size() - 1;
      split(i, std::span(*answers).subspan(at, size));
      at += size;
    }
    return {};
  }

  Result<std::vector<std::int64_t>> ask(const std::vector<TermPair>& pairs) {
    std::vector<std::int64_t> answers;
    for (int repeat = 0; repeat < std::max(options_.repeats, 1); ++repeat) {
      auto again = counts_(pairs);
      if (!again) return again;
      questions += static_cast<std::int64_t>(pairs.size());
      if (again->size() != pairs.size())
        return fail(ErrorKind::internal, "an oracle gave another number of answers than questions");
      if (repeat == 0) {
        answers = *std::move(again);
        continue;
      }
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (answers[i] == (*again)[i]) continue;
        refusal = Refusal{Outcome::not_reproducible,
                          fmt::format("terms {} and {} met under {} terms in one run and under {} in another "
                                      "of the same inputs",
                                      pairs[i].i, pairs[i].j, answers[i], (*again)[i])};
        return answers;
      }
    }
    return answers;
  }

  void refuse(std::string why) { refusal = Refusal{Outcome::no_single_tree, std::move(why)}; }

  /// Groups the terms by where they join the pivot's side.
  void split(std::size_t index, std::span<const std::int64_t> answers) {
    std::map<std::int64_t, std::vector<std::int64_t>> by_leaves;
    const std::int64_t pivot = tasks_[index].pivot;
    std::size_t at = 0;
    for (const std::int64_t term : tasks_[index].terms)
      if (term != pivot) by_leaves[answers[at++]].push_back(term);
    std::int64_t own = 1;
    for (auto& [leaves, members] : by_leaves) {
      const auto size = static_cast<std::int64_t>(members.size());
      const bool of_this_set = leaves == own + size;
      // Children of one fused addition meet each other where the whole set joins the rest.
      const bool of_fused_node = leaves == tasks_[index].joins && leaves > own + size;
      if (!of_this_set && !of_fused_node)
        return refuse(
            fmt::format("{} terms (term {} among them) meet term {} under {} terms, where {} were "
                        "expected",
                        size, members.front(), pivot, leaves, own + size));
      tasks_[index].groups.push_back({leaves, tasks_.size()});
      Task task;
      task.terms = std::move(members);
      task.joins = leaves;
      tasks_.push_back(std::move(task));
      own = leaves;
    }
  }

  /// Later tasks are parts of earlier ones: built from the back.
  Result<std::optional<SummationTree>> assemble() {
    struct Sum {
      std::vector<std::int32_t> parts;  ///< of the topmost addition, not made yet; one part: a term
      std::int64_t leaves = 1;
    };
    SummationTreeBuilder builder;
    std::vector<Sum> sums(tasks_.size());
    for (std::size_t i = tasks_.size(); i-- > 0;) {
      Sum sum{{builder.term(tasks_[i].pivot)}, 1};
      for (const Task::Group& group : tasks_[i].groups) {
        Sum& other = sums[group.task];
        if (other.leaves == group.leaves) {  // the group's own top is the node where both meet
          other.parts.push_back(builder.add(sum.parts));
        } else {
          other.parts = {builder.add(other.parts), builder.add(sum.parts)};
        }
        sum = {std::move(other.parts), group.leaves};
      }
      sums[i] = std::move(sum);
    }
    auto tree = builder.finish(builder.add(sums.front().parts));
    if (!tree) return fail(ErrorKind::internal, tree.error().message);
    return std::optional(*std::move(tree));
  }

  std::int64_t terms_;
  const LeafCounts& counts_;
  const RevealOptions& options_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::int64_t asked_ = 0;
  std::vector<Task> tasks_;
};

}  // namespace

Result<Revelation> reveal_tree(std::int64_t terms, const LeafCounts& counts, const RevealOptions& options) {
  if (terms < 1) return bad_input(fmt::format("a sum of {} terms has no tree; give one term or more", terms));
  Revelation revelation;
  for (int i = 0; i < std::max(options.passes, 1); ++i) {
    Pass pass(terms, counts, options, options.seed + static_cast<std::uint64_t>(i));
    auto tree = pass.run();
    if (!tree) return tl::unexpected(tree.error());
    revelation.questions += pass.questions;
    if (pass.refusal) {
      revelation.outcome = pass.refusal->outcome;
      revelation.why = pass.refusal->why;
      revelation.tree.reset();
      return revelation;
    }
    if (revelation.tree && !(*revelation.tree == **tree)) {
      revelation.outcome = Outcome::no_single_tree;
      revelation.why = fmt::format("two passes with other questions gave the trees {} and {}",
                                   revelation.tree->hash_text(), (*tree)->hash_text());
      revelation.tree.reset();
      return revelation;
    }
    revelation.tree = *std::move(tree);
  }
  return revelation;
}

}  // namespace parity
