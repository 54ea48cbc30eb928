// In place of history.cpp where there is no SQLite.
#include "reports/history/history.hpp"

namespace parity {

struct History::Store {
  std::vector<HistoryRun> runs;
};

namespace {

tl::unexpected<Error> absent() {
  return fail(ErrorKind::unsupported,
              "this build keeps no history: it was configured without SQLite; install libsqlite3-dev (or run "
              "ci/setup.sh), configure again and build");
}

}  // namespace

bool history_is_built_in() {
  return false;
}

History::History(std::unique_ptr<Store> store) : store_(std::move(store)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;

Result<History> History::open(const std::filesystem::path&, Mode) {
  return absent();
}

Result<HistoryAddition> History::add(std::span<const Record>) {
  return absent();
}

const std::vector<HistoryRun>& History::runs() const {
  return store_->runs;
}

Result<std::int64_t> History::results() const {
  return absent();
}

Result<void> History::each_series(const HistoryPart&,
                                  const std::function<void(const HistorySeries&)>&) const {
  return absent();
}

}  // namespace parity
