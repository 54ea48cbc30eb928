// docs/record.schema.json says what to_json_line() writes and parse_record_json() reads, no more and no less.
#include <gtest/gtest.h>

#include "reports/record_json.hpp"
#include "reports/record_sample.hpp"
#include "reports/schema_check.hpp"

namespace parity {
namespace {

using nlohmann::json;

json written(const Record& record) {
  return json::parse(to_json_line(record));
}

TEST(RecordSchema, RecordsFit) {
  const json schema = record_json_schema();
  ASSERT_TRUE(schema.is_object());
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::suspect, Verdict::drift,
                                Verdict::unsupported, Verdict::untrusted, Verdict::crash, Verdict::timeout})
    EXPECT_EQ(schema_problems(schema, written(sample_record(verdict))), std::vector<std::string>());
  EXPECT_EQ(schema_problems(schema, written(Record{})), std::vector<std::string>());
  Record composite = sample_record();
  composite.outputs[0].sampled = SampledCheck{};
  composite.drift = {{"y", 3, 12, 1, true, 0.5, 0.25, 0.75, 0.5}};
  composite.trajectories = {{"loss", {2, HUGE_VAL}, {2, 1}}};
  composite.call_times = {{"gemm", "tiled_f32", 2, 0.5, 1}};
  composite.provenance.profile = "one";
  composite.case_seconds = 0.5;
  composite.last_words = {"driver: lost"};
  EXPECT_EQ(schema_problems(schema, written(composite)), std::vector<std::string>());
}

/// Puts a value of another type in place of each field below, one after the other: none may still fit.
void expect_each_field_is_checked(const json& schema, const json& record, json& part,
                                  const std::string& where, int& changed) {
  for (auto& [name, field] : part.items()) {
    const std::string place = where + "/" + name;
    if (field.is_structured() && !field.empty())
      expect_each_field_is_checked(schema, record, field, place, changed);
    const json kept = field;
    field = kept.is_object() ? json(true) : json::object();
    EXPECT_FALSE(schema_problems(schema, record).empty()) << place;
    field = kept;
    ++changed;
  }
}

TEST(RecordSchema, AWrongFieldDoesNotFit) {
  const json schema = record_json_schema();
  json record = written(sample_record());
  record["outputs"][0]["judgement"]["statistics"]["ulp_histogram"] = json::array({1, 2});
  EXPECT_EQ(schema_problems(schema, record).size(), 1U);
  record = written(sample_record());
  int changed = 0;
  expect_each_field_is_checked(schema, record, record, "", changed);
  EXPECT_GT(changed, 250);

  record["surprise"] = 1;
  EXPECT_EQ(schema_problems(schema, record), std::vector<std::string>{"surprise: no such field"});
  record.erase("surprise");
  record["verdict"] = "fine";
  EXPECT_EQ(schema_problems(schema, record).size(), 1U);
  record["verdict"] = "fail";
  record["outputs"][0]["judgement"]["statistics"]["worst"][0]["got_bits"] = "7e01";
  EXPECT_EQ(schema_problems(schema, record).size(), 1U);
}

TEST(RecordSchema, WhatIsRequiredIsWhatTheReaderNeeds) {
  const json schema = record_json_schema();
  const json whole = written(sample_record());
  for (const auto& [name, field] : whole.items()) {
    json record = whole;
    record.erase(name);
    EXPECT_EQ(parse_record_json(record.dump()).has_value(), schema_problems(schema, record).empty()) << name;
  }
  for (const auto& [name, field] : whole["outputs"][0].items()) {
    json record = whole;
    record["outputs"][0].erase(name);
    EXPECT_EQ(parse_record_json(record.dump()).has_value(), schema_problems(schema, record).empty()) << name;
  }
}

TEST(RecordSchema, AKeywordThatIsNotUnderstoodIsNoPass) {
  EXPECT_EQ(schema_problems({{"oneOf", json::array()}}, 1).size(), 1U);
}

}  // namespace
}  // namespace parity
