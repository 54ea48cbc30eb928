// The main function of every test program.
#include <gtest/gtest.h>

#include <cstdlib>

// Read by LeakSanitizer: LLVM's OpenMP runtime keeps what it allocated for threads that a test no longer
// wants.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libomp";
}

namespace {

/// GoogleTest has chosen its part of the tests by then; a program that a test starts must not take these for
/// its own.
struct OwnShard : testing::Environment {
  void SetUp() override {
    ::unsetenv("GTEST_TOTAL_SHARDS");
    ::unsetenv("GTEST_SHARD_INDEX");
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new OwnShard);
  return RUN_ALL_TESTS();
}
