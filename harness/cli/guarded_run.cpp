#include "harness/cli/guarded_run.hpp"

#include <exception>
#include <new>

namespace parity::cli {
namespace {

Record crashed(Record blank, std::string reason) {
  blank.verdict = Verdict::crash;
  blank.reason = std::move(reason);
  return blank;
}

}  // namespace

Record guarded_run(const std::function<Record()>& run, Record blank) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return crashed(std::move(blank), "the harness failed: out of host memory; try a smaller case");
  } catch (const std::exception& error) {
    return crashed(std::move(blank), std::string("the harness failed: ") + error.what());
  } catch (...) {
    return crashed(std::move(blank), "the harness failed: an exception of an unknown type");
  }
}

}  // namespace parity::cli
