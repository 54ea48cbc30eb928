// The page's own unpacking (reports/html/inflate.js), in a browser, against what zlib packs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "harness/cli/browser.hpp"
#include "reports/page_files.hpp"

namespace parity {
namespace {

/// Bytes as zlib packs them; level 0 stores them.
std::string packed_by_zlib(const std::string& bytes, int level, int strategy) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL, strategy), Z_OK);
  // deflateBound() alone is too little for nothing at level 0, at least in zlib 1.2.13.
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

class PageInflate : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string program = Browser::find();
    why_not_ = "no Chromium in PATH and PARITY_BROWSER is not set: the page's unpacking was not tested";
    if (!program.empty()) browser_ = Browser::start(program, why_not_);
  }
  static void TearDownTestSuite() { browser_.reset(); }
  void SetUp() override {
    if (!browser_) GTEST_SKIP() << why_not_;
    for (const PageFile& file : page_files())
      if (file.name == "inflate.js") source_ = file.text;
    ASSERT_FALSE(source_.empty());
  }

  /// What the page makes of packed bytes: "same" as `bytes`, "other" ones, or "refused".
  std::string unpacked(const std::string& packed, const std::string& bytes) {
    const auto numbers = [](const std::string& text) {
      return nlohmann::json(std::vector<unsigned char>(text.begin(), text.end())).dump();
    };
    const auto answer = browser_->evaluate(fmt::format(
        "(() => {{ {}\n const want = {}; let got = null; try {{ got = inflate({}, {}); }} catch {{ return "
        "'refused'; }} return got.length === want.length && got.every((byte, i) => byte === want[i]) ? "
        "'same' "
        ": 'other'; }})()",
        source_, numbers(bytes), numbers(packed), bytes.size()));
    return answer.is_string() ? answer.get<std::string>() : answer.dump();
  }
  std::string letters(std::size_t size, unsigned kinds) {
    std::string text(size, '\0');
    for (char& letter : text) letter = static_cast<char>(random_() % kinds);
    return text;
  }
  std::string lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{{\"elements\":{},\"path\":\"tiled\"}}\n", random_() % 100'000'000);
    return text;
  }

  std::mt19937 random_{1};
  std::string source_;
  static std::unique_ptr<Browser> browser_;
  static std::string why_not_;
};

std::unique_ptr<Browser> PageInflate::browser_;
std::string PageInflate::why_not_;

TEST_F(PageInflate, UnpacksWhateverZlibPacks) {
  const std::string window = letters(32768, 256);
  const std::string inputs[] = {"",
                                "a",
                                std::string(100'000, 'x'),
                                lines(3000),
                                letters(70'000, 256),
                                letters(20'000, 3),
                                window + window,
                                std::string(258, 'y') + std::string(3, 'z')};
  constexpr std::pair<int, int> ways[] = {{0, Z_DEFAULT_STRATEGY},
                                          {6, Z_DEFAULT_STRATEGY},
                                          {9, Z_FILTERED},
                                          {6, Z_HUFFMAN_ONLY},
                                          {6, Z_RLE},
                                          {6, Z_FIXED}};
  for (const std::string& input : inputs)
    for (const auto& [level, strategy] : ways)
      EXPECT_EQ(unpacked(packed_by_zlib(input, level, strategy), input), "same")
          << input.size() << " bytes, level " << level << ", strategy " << strategy;
}

TEST_F(PageInflate, RefusesWhatIsDamaged) {
  const std::string bytes = lines(80);
  for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED}) {
    const std::string packed = packed_by_zlib(bytes, 6, strategy);
    for (int i = 0; i < 40; ++i) {
      // The first two bytes say nothing that unpacking needs.
      std::string damaged = packed;
      const std::size_t bit = 16 + random_() % (8 * (packed.size() - 2));
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      EXPECT_EQ(unpacked(damaged, bytes), "refused") << "bit " << bit;
      const std::size_t size = random_() % packed.size();
      EXPECT_EQ(unpacked(packed.substr(0, size), bytes), "refused") << size << " of " << packed.size();
    }
    EXPECT_EQ(unpacked(packed, bytes + "?"), "refused");
    EXPECT_EQ(unpacked(packed, bytes.substr(1)), "refused");
  }
  const std::string stored = packed_by_zlib(bytes, 0, Z_DEFAULT_STRATEGY);
  EXPECT_EQ(unpacked(stored.substr(0, stored.size() / 2), bytes), "refused");
  EXPECT_EQ(unpacked("", bytes), "refused");
  // A kind of block that there is not, where one with codes of its own stood.
  std::string kind = packed_by_zlib(bytes, 6, Z_DEFAULT_STRATEGY);
  ASSERT_EQ(kind[2] >> 1 & 3, 2);
  kind[2] = static_cast<char>(kind[2] | 2);
  EXPECT_EQ(unpacked(kind, bytes), "refused");
  // Bytes whose checksum a zero behind them leaves as it is: their sum is one less than its modulus.
  const std::string light = std::string(256, '\xff') + '\xf0';
  const std::string packed = packed_by_zlib(light, 6, Z_DEFAULT_STRATEGY);
  EXPECT_EQ(unpacked(packed, light), "same");
  EXPECT_EQ(unpacked(packed, light + '\0'), "refused");
}

}  // namespace
}  // namespace parity
