#include "reports/junit.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reports/record_sample.hpp"
#include "reports/utf8.hpp"

namespace parity {
namespace {

/// A small check of well-formedness, enough for what the writer makes: one root, tags that close in order,
/// quoted attributes, known entities, allowed characters. Empty: well-formed; else what is wrong.
std::string malformed(std::string_view xml) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  const auto entities = [](std::string_view text) {
    for (std::size_t at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
      const std::string_view name = text.substr(at, text.find(';', at) - at);
      bool known = name.starts_with("&#");
      for (const char* entity : {"&amp", "&lt", "&gt", "&quot", "&apos"}) known = known || name == entity;
      if (!known) return false;
    }
    return true;
  };
  for (const char32_t c : decode_utf8(xml))
    if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') return "a control character";
  std::size_t i = 0;
  if (xml.starts_with("<?xml ")) i = xml.find("?>") + 2;
  while (i < xml.size()) {
    if (xml[i] != '<') {
      const std::size_t end = std::min(xml.find('<', i), xml.size());
      const std::string_view text = xml.substr(i, end - i);
      if (text.find("]]>") != text.npos) return "]]> in text";
      if (!entities(text)) return "an unknown entity in text";
      if (open.empty() && text.find_first_not_of(" \n") != text.npos) return "text outside the root";
      i = end;
      continue;
    }
    std::size_t end = i + 1;
    for (char quote = 0; end < xml.size() && (quote || xml[end] != '>'); ++end) {
      if (xml[end] == '<') return "< inside a tag";
      if (xml[end] == '"') quote = quote ? '\0' : '"';
    }
    if (end == xml.size()) return "a tag that does not end";
    const std::string_view tag = xml.substr(i + 1, end - i - 1);
    if (!entities(tag)) return "an unknown entity in a tag";
    const std::size_t begin = tag.starts_with('/') ? 1 : 0;
    const std::string name(tag.substr(begin, tag.find_first_of(" /", begin) - begin));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != name) return "</" + name + "> does not match";
      open.pop_back();
    } else {
      if (open.empty() && ++roots > 1) return "two roots";
      if (!tag.ends_with('/')) open.push_back(name);
    }
    i = end + 1;
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return roots == 1 ? "" : "no root";
}

TEST(JUnit, TheCheckItselfSeesFaults) {
  EXPECT_EQ(malformed("<a><b c=\"1 > 0\"/>&lt;</a>"), "");
  for (const char* bad :
       {"<a>", "<a></b>", "<a/><b/>", "<a>&x;</a>", "<a b=\"<\"/>", "<a>\x01</a>", "<a>]]></a>", ""})
    EXPECT_NE(malformed(bad), "") << bad;
}

TEST(JUnit, WellFormedWhateverTheTextsHold) {
  std::vector<Record> records;
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::suspect, Verdict::drift,
                                Verdict::unsupported, Verdict::untrusted, Verdict::crash, Verdict::timeout})
    records.push_back(sample_record(verdict));
  records.push_back(sample_record());
  records.back().device.id = "cpu:0";
  records.back().reason = "caf\xc3\xa9 \xed\xa0\x80 \xef\xbf\xbf & < > \" '";
  EXPECT_EQ(malformed(to_junit(records)), "");
  EXPECT_EQ(malformed(to_junit({})), "");
}

TEST(JUnit, APassWithoutElementsIsSkipped) {
  Record record = sample_record(Verdict::pass);
  record.outputs[0].judgement.statistics.elements = 0;
  const std::string text = to_junit(std::span(&record, 1));
  EXPECT_NE(text.find("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""), std::string::npos) << text;
  EXPECT_NE(text.find("pass: the result has no elements"), std::string::npos) << text;
}

TEST(JUnit, VerdictsBecomeTheRightElements) {
  const auto of = [](Verdict verdict) {
    const Record record = sample_record(verdict);
    return to_junit(std::span(&record, 1));
  };
  // What judged nothing fails nothing: the counts agree with the exit code.
  EXPECT_NE(of(Verdict::unsupported).find("<skipped message=\"unsupported: 17 elements"), std::string::npos);
  EXPECT_NE(of(Verdict::untrusted).find("<skipped message=\"untrusted: 17 elements"), std::string::npos);
  EXPECT_NE(of(Verdict::untrusted).find(R"(failures="0" errors="0" skipped="1")"), std::string::npos);
  EXPECT_NE(of(Verdict::pass).find(R"(tests="1" failures="0" errors="0" skipped="0")"), std::string::npos);
  for (const Verdict verdict : {Verdict::fail, Verdict::suspect, Verdict::drift}) {
    EXPECT_NE(of(verdict).find(R"(failures="1" errors="0" skipped="0")"), std::string::npos);
    EXPECT_NE(of(verdict).find("<failure type=\"" + std::string(name_of(verdict))), std::string::npos);
  }
  for (const Verdict verdict : {Verdict::crash, Verdict::timeout})
    EXPECT_NE(of(verdict).find("<error type=\"" + std::string(name_of(verdict))), std::string::npos);
}

TEST(JUnit, WhatIsMissingIsAnError) {
  const Record record = sample_record(Verdict::pass);
  const std::string text = to_junit(std::span(&record, 1), {"a<b: 1 of 3 recorded; the run was interrupted"});
  EXPECT_EQ(malformed(text), "");
  EXPECT_NE(text.find(R"(<testsuites name="parity" tests="2" failures="0" errors="1")"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(<error type="incomplete" message="a&lt;b: 1 of 3 recorded; the run)"),
            std::string::npos);
}

TEST(JUnit, FailuresCarryTheReproLine) {
  const Record record = sample_record();
  EXPECT_NE(to_junit(std::span(&record, 1)).find("parity run --case &apos;gemm m=2&apos;"),
            std::string::npos);
}

TEST(Utf8, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(decode_utf8("a\xff\xc3\xa9"), U"a\ufffd\u00e9");
  EXPECT_EQ(decode_utf8("\xed\xa0\x80"), U"\ufffd\ufffd\ufffd");  // a surrogate
  EXPECT_EQ(decode_utf8("\xc0\x80"), U"\ufffd\ufffd");            // overlong
  EXPECT_EQ(decode_utf8("\xe2\x82"), U"\ufffd\ufffd");            // cut short
  EXPECT_EQ(decode_utf8("\xf0\x9f\x98\x80"), U"\U0001f600");
  std::string text;
  for (const char32_t c : {U'a', U'\u00e9', U'\u20ac', U'\U0001f600'}) append_utf8(text, c);
  EXPECT_EQ(text, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace parity
