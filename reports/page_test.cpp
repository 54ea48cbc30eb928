// The data of a page: what its scripts unpack is what was recorded.
#include "reports/page.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/record_sample.hpp"

namespace parity {
namespace {

const std::string base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648, by a table the other way round.
std::string from_base64(const std::string& text) {
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(base64_digits.find(c));
    if ((held += 6) < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
  }
  return bytes;
}

std::string inflated(const std::string& packed) {
  std::string text(1 << 22, '\0');
  uLongf size = text.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  text.resize(size);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<Record> numbered_records(std::size_t count) {
  std::vector<Record> records(count, sample_record());
  for (std::size_t i = 0; i < count; ++i)
    records[i].repro = "parity run --case 'number " + std::to_string(i) + "'";
  return records;
}

TEST(PageBlocks, HoldEveryRecordInOrderAcrossSources) {
  for (const std::size_t count : {0u, 1u, 2u, 150u}) {
    const std::vector<Record> records = numbered_records(count);
    const std::size_t middle = count / 2;
    const PageSource sources[] = {{"a", std::span(records).first(middle), {}},
                                  {"b", std::span(records).subspan(middle), {}}};
    std::vector<std::string> details;
    std::size_t blocks = 0, bytes = 0;
    for (const std::string& line : lines_of(page_blocks(sources))) {
      if (line.empty()) continue;  // a line break stands before each
      EXPECT_TRUE(blocks == 0 || bytes >= page_block_bytes) << blocks;
      ++blocks;
      std::istringstream block(line);
      std::size_t first = 0;
      std::string packed, rest;
      ASSERT_TRUE(block >> first >> bytes >> packed) << line.substr(0, 40);
      EXPECT_FALSE(block >> rest);
      EXPECT_EQ(first, details.size());
      EXPECT_EQ(packed.find_first_not_of(base64_digits + "="), packed.npos);
      EXPECT_EQ(packed.size() % 4, 0u);
      const std::string text = inflated(from_base64(packed));
      EXPECT_EQ(text.size(), bytes);
      const auto lines = lines_of(text);
      EXPECT_LT(bytes - lines.back().size(), page_block_bytes);
      details.insert(details.end(), lines.begin(), lines.end());
    }
    EXPECT_EQ(blocks > 1, count == 150) << blocks;
    ASSERT_EQ(details.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(details[i], page_detail(records[i]));
  }
}

TEST(Page, IsOneFileWithAllOfItsPartsAndNoneLeftOver) {
  const std::vector<Record> records = numbered_records(70);
  const PageSource source{"records.jsonl", records, {}};
  const std::string page = to_html(std::span(&source, 1));
  EXPECT_EQ(page.find("{{"), page.npos);
  EXPECT_TRUE(page.ends_with("</html>\n"));
  const auto element = [&](const std::string& id) {
    const std::size_t from = page.find('>', page.find("id=\"" + id + "\"")) + 1;
    return page.substr(from, page.find("</script>", from) - from);
  };
  EXPECT_EQ(element("blocks"), page_blocks(std::span(&source, 1)));
  const auto index = nlohmann::json::parse(element("index"));
  EXPECT_EQ(index["rows"]["case"].size(), 70u);
}

}  // namespace
}  // namespace parity
