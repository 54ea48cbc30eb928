#include "reports/record_json.hpp"

#include <gtest/gtest.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "reports/record_fields.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

/// Converts to anything: counts how many values an aggregate can be made of.
struct Any {
  template <class T>
  operator T() const;
};
template <class T, class... A>
constexpr std::size_t member_count() {
  if constexpr (requires { T{A{}..., Any{}}; })
    return member_count<T, A..., Any>();
  else
    return sizeof...(A);
}
/// Counts what record_fields names.
struct Counter {
  std::size_t count = 0;
  template <class T>
  void operator()(const char*, const T&) {
    ++count;
  }
  void bits(const char*, std::uint64_t) { ++count; }
  void sparse_bits(const char*, std::uint64_t) { ++count; }
  template <class T>
  void sparse(const char*, const T&, const T& = {}) {
    ++count;
  }
};
template <class T>
std::size_t named_fields() {
  Counter counter;
  const T value{};
  record_fields(counter, value);
  return counter.count;
}

TEST(RecordJson, EveryMemberOfEveryPartIsNamed) {
  EXPECT_EQ(named_fields<Record>(), member_count<Record>());
  EXPECT_EQ(named_fields<OutputRecord>(), member_count<OutputRecord>());
  EXPECT_EQ(named_fields<SampledCheck>(), member_count<SampledCheck>());
  EXPECT_EQ(named_fields<Judgement>(), member_count<Judgement>());
  EXPECT_EQ(named_fields<Contract>(), member_count<Contract>());
  EXPECT_EQ(named_fields<ReplayResult>(), member_count<ReplayResult>());
  EXPECT_EQ(named_fields<ErrorLocation>(), member_count<ErrorLocation>());
  EXPECT_EQ(named_fields<AggregateFinding>(), member_count<AggregateFinding>());
  EXPECT_EQ(named_fields<WorstElement>(), member_count<WorstElement>());
  EXPECT_EQ(named_fields<OrderEffects>(), member_count<OrderEffects>());
  EXPECT_EQ(named_fields<OrderSpread>(), member_count<OrderSpread>());
  EXPECT_EQ(named_fields<OrderExperiment>(), member_count<OrderExperiment>());
  EXPECT_EQ(named_fields<Power>(), member_count<Power>());
  EXPECT_EQ(named_fields<Provenance>(), member_count<Provenance>());
  EXPECT_EQ(named_fields<GuardDamage>(), member_count<GuardDamage>());
  EXPECT_EQ(named_fields<DeviceInfo>(), member_count<DeviceInfo>());
  EXPECT_EQ(named_fields<DeviceFact>(), member_count<DeviceFact>());
  EXPECT_EQ(named_fields<ErrorStatistics>(), member_count<ErrorStatistics>());
}

TEST(RecordJson, RoundTripKeepsEveryField) {
  const Record record = sample_record();
  const std::string line = to_json_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = parse_record_json(line);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json_line(*back), line);

  const ErrorStatistics& s = back->outputs.at(0).judgement.statistics;
  const ErrorStatistics& t = record.outputs.at(0).judgement.statistics;
  EXPECT_TRUE(std::isnan(s.cosine));
  EXPECT_EQ(s.max_abs, HUGE_VAL);
  EXPECT_EQ(s.cosine_worst_row, -HUGE_VAL);
  EXPECT_EQ(s.rms, t.rms);
  EXPECT_EQ(s.mean_signed, t.mean_signed);
  EXPECT_EQ(s.norm_ratio, t.norm_ratio);
  EXPECT_EQ(s.max_relative, t.max_relative);
  EXPECT_EQ(s.outside_spread, t.outside_spread);
  EXPECT_EQ(s.ulp_histogram, t.ulp_histogram);
  EXPECT_EQ(s.worst.at(0).got_bits, 0x7e01u);
  EXPECT_EQ(s.worst.at(1).got, -2);
  EXPECT_EQ(back->outputs[0].judgement.aggregates.at(1).scope, AggregateFinding::Scope::column);
  EXPECT_EQ(back->outputs[0].contract.store_rounding, Rounding::toward_zero);
  EXPECT_EQ(back->outputs[0].dtype, DType::f16);
  EXPECT_EQ(back->outputs[0].bits, 0x9f3);
  EXPECT_FALSE(back->order.batch_invariance);
  ASSERT_TRUE(back->order.run_to_run);
  EXPECT_EQ(back->order.run_to_run->differing, 2);
  EXPECT_EQ(back->device.facts.at(1).value, "yes");
  EXPECT_EQ(back->provenance.inputs.at("A"), "a.npy #1");
}

TEST(RecordJson, EveryVerdictRoundTrips) {
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::suspect, Verdict::drift,
                                Verdict::unsupported, Verdict::untrusted, Verdict::crash, Verdict::timeout}) {
    const auto back = parse_record_json(to_json_line(sample_record(verdict)));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->verdict, verdict);
  }
}

TEST(RecordJson, ErrorsNameTheField) {
  const auto broken = [](const std::function<void(nlohmann::json&)>& breaking) {
    auto json = nlohmann::json::parse(to_json_line(sample_record()));
    breaking(json);
    const auto back = parse_record_json(json.dump());
    return back ? std::string("no error") : back.error().message;
  };
  EXPECT_NE(broken([](auto& j) { j.erase("path"); }).find("'path' is missing"), std::string::npos);
  EXPECT_NE(broken([](auto& j) { j["schema"] = 99; }).find("schema 99"), std::string::npos);
  EXPECT_NE(broken([](auto& j) { j["verdict"] = "fine"; }).find("'verdict'"), std::string::npos);
  EXPECT_NE(broken([](auto& j) {
              j["outputs"][0]["judgement"]["statistics"]["max_abs"] = "big";
            }).find("outputs[0].judgement.statistics.max_abs"),
            std::string::npos);
  EXPECT_NE(
      broken([](auto& j) { j["outputs"][0]["judgement"]["statistics"]["elements"] = 1.5; }).find("elements"),
      std::string::npos);
  EXPECT_NE(broken([](auto& j) {
              j["outputs"][0]["judgement"]["statistics"]["elements"] = 18446744073709551615u;
            }).find("64-bit"),
            std::string::npos);
  EXPECT_NE(broken([](auto& j) {
              j["outputs"][0]["judgement"]["statistics"]["worst"][0]["got_bits"] = "7e01";
            }).find("got_bits"),
            std::string::npos);
  EXPECT_NE(broken([](auto& j) {
              j["outputs"][0]["judgement"]["statistics"]["ulp_histogram"].erase(0);
            }).find("ulp_histogram"),
            std::string::npos);
  EXPECT_NE(broken([](auto& j) { j["device"] = 3; }).find("'device'"), std::string::npos);
  for (const char* text : {"", "{", "[]", "3", "null", "{\"schema\":1}"})
    EXPECT_FALSE(parse_record_json(text)) << text;
}

}  // namespace
}  // namespace parity
