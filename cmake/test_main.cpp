// The main function of every test program.
#include <gtest/gtest.h>

// Read by LeakSanitizer: LLVM's OpenMP runtime keeps what it allocated for threads that a test no longer
// wants.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libomp";
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
