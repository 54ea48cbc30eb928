#include "harness/faults/catalogue.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/faults/corruption.hpp"
#include "harness/faults/plan.hpp"
#include "references/op_table.hpp"

namespace parity::faults {
namespace {

std::vector<CatalogueFault> whole_catalogue() {
  std::vector<CatalogueFault> all;
  for (const auto& entry : std::filesystem::directory_iterator(PARITY_CASES "/faults")) {
    std::ifstream stream(entry.path());
    std::stringstream text;
    text << stream.rdbuf();
    auto part = parse_catalogue(text.str(), entry.path().filename().string());
    EXPECT_TRUE(part) << part.error().message;
    if (part) std::ranges::move(*part, std::back_inserter(all));
  }
  return all;
}

TEST(Catalogue, NamesAreUniqueAndEveryRungIsCovered) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto catalogue = whole_catalogue();
  EXPECT_GE(catalogue.size(), 60u);
  std::set<std::string> names;
  std::set<int> rungs, rungs_of_kernels;
  for (const CatalogueFault& fault : catalogue) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name << " is there twice";
    for (const auto* patterns : {&fault.cases, &fault.also})
      for (const std::string& pattern : *patterns) {
        const auto cases = expand_pattern(pattern, stages);
        ASSERT_TRUE(cases) << fault.name << ": " << cases.error().message;
        ASSERT_FALSE(cases->empty()) << fault.name;
        for (const Case& c : *cases)
          EXPECT_TRUE(stages.find(c.stage)->build(c)) << fault.name << ": " << pattern;
        if (patterns != &fault.cases) continue;
        const int rung = stages.find(cases->front().stage)->rung();
        rungs.insert(rung);
        if (fault.corruption.empty()) rungs_of_kernels.insert(rung);
      }
    if (!fault.corruption.empty()) {
      EXPECT_NE(find_corruption(fault.corruption), nullptr) << fault.name << ": " << fault.corruption;
    }
  }
  for (int rung = 1; rung <= 10; ++rung) EXPECT_TRUE(rungs.contains(rung)) << "no fault on rung " << rung;
  for (int rung = 1; rung <= 10; ++rung)
    EXPECT_TRUE(rungs_of_kernels.contains(rung)) << "no faulty kernel on rung " << rung;
}

// The table of faulty CPU kernels and the catalogue name the same faults, on the same cases.
TEST(Catalogue, AgreesWithTheCpuKernels) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto catalogue = whole_catalogue();
  std::set<std::string> planted;
  for (const planted::Fault& fault : planted::all_faults()) {
    planted.insert(fault.name);
    const auto entry = std::ranges::find(catalogue, fault.name, &CatalogueFault::name);
    ASSERT_NE(entry, catalogue.end()) << fault.name << " is not in the catalogue";
    EXPECT_TRUE(entry->in_cpu) << fault.name;
    const Case c = *parse_case(fault.case_text, stages);
    bool known = false;
    for (const auto* patterns : {&entry->cases, &entry->also})
      for (const std::string& pattern : *patterns) {
        const auto cases = *expand_pattern(pattern, stages);
        known = known || std::ranges::find(cases, c) != cases.end();
      }
    EXPECT_TRUE(known) << fault.name << ": " << fault.case_text << " is none of its cases";
  }
  for (const CatalogueFault& fault : catalogue)
    EXPECT_EQ(fault.in_cpu, planted.contains(fault.name)) << fault.name;
}

TEST(Catalogue, DocumentationCountsIt) {
  const auto text_of = [](const char* file) {
    std::ifstream stream(std::string(PARITY_CASES "/../") + file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  };
  const auto catalogue = whole_catalogue();
  const auto kernels = std::ranges::count(catalogue, "", &CatalogueFault::corruption);
  const auto on_cpu = std::ranges::count(catalogue, true, &CatalogueFault::in_cpu);
  const auto size = static_cast<std::ptrdiff_t>(catalogue.size());
  const std::string readme = text_of("README.md"), page = text_of("docs/faults.md");
  for (const auto& [text, part] :
       {std::pair(&readme, fmt::format("plants {} known faults", size)),
        {&page, fmt::format("cases/faults/*.txt`: {} faults", size)},
        {&page, fmt::format("**Faulty kernels** ({})", kernels)},
        {&page, fmt::format("**Changes to a healthy result** ({})", size - kernels)},
        {&page, fmt::format("The CPU device has {} faulty kernels", on_cpu)}})
    EXPECT_NE(text->find(part), std::string::npos) << part;
}

TEST(Catalogue, ReadsSourcesWithTheirBlanks) {
  const auto catalogue = parse_catalogue(
      "# a comment\n"
      "fault some-fault\n  what it is wrong\n  case gemm m=3\n  not software no threads\n  missed h200 too "
      "small\n"
      "  in vulkan a.comp one two\n  -   x = 1;\n  -   y = 2;\n  +   x = 3;\n  - z\n  +\n"
      "  in cuda b.cu expression\n  - p\n  + q\n",
      "text");
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  ASSERT_EQ(catalogue->size(), 1u);
  const CatalogueFault& fault = catalogue->front();
  ASSERT_EQ(fault.mutations.size(), 3u);
  EXPECT_EQ(fault.mutations[0].from, "  x = 1;\n  y = 2;");
  EXPECT_EQ(fault.mutations[0].to, "  x = 3;");
  EXPECT_EQ(fault.mutations[0].modules, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(fault.mutations[1].from, "z");
  EXPECT_EQ(fault.mutations[1].to, "");
  EXPECT_EQ(fault.mutations[1].file, "a.comp");
  EXPECT_EQ(fault.mutations[2].form, Mutation::Form::expression);
  EXPECT_TRUE(fault.planted_in("vulkan") && fault.planted_in("cuda") && !fault.planted_in("cpu"));
  EXPECT_EQ(fault.not_here.front().reason, "no threads");
  EXPECT_EQ(fault.misses.front().where, "h200");
}

TEST(Catalogue, SaysWhatIsWrongAndWhere) {
  const auto message = [](const std::string& text) {
    const auto catalogue = parse_catalogue(text, "file.txt");
    return catalogue ? std::string() : catalogue.error().message;
  };
  const std::string good = "fault a\nwhat w\ncase gemm\n";
  EXPECT_EQ(message(good + "in cpu\n"), "");
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"what w\n", "file.txt:1: 'what' stands before the first fault"},
           {"fault A b\n", "not 'A b'"},
           {good, "is planted nowhere"},
           {"fault a\ncase gemm\nin cpu\n", "has no 'what'"},
           {good + "in cpu\nfault a\n", "file.txt:5: a second fault is called 'a'"},
           {good + "in metal x\n", "not in 'metal'"},
           {good + "in cuda x.cu\n", "expression or statement"},
           {good + "in vulkan x.comp\n", "does not say what to change in x.comp"},
           {good + "- text\n", "without an 'in BACKEND FILE'"},
           {good + "corrupt zero\nseverities 1 x\n", "'x' is no number"},
           {good + "corrupt zero\nseverities 2 1\nnominal 3\n", "none of its severities"},
           {good + "corrupt zero\nin cpu\n", "at once"},
           {good + "in cpu\nsevere 3\n", "'severe' is no word"}})
    EXPECT_NE(message(text).find(part), std::string::npos) << text << "\n" << message(text);
}

// The catalogue stays honest: a source that moved on ends the build.
TEST(Mutate, WantsItsTextExactlyOnce) {
  Mutation mutation;
  mutation.file = "a.comp";
  mutation.from = "i < n";
  mutation.to = "i <= n";
  EXPECT_EQ(*mutate("for (i = 0; i < n; ++i)", mutation, 0, "f"), "for (i = 0; i <= n; ++i)");
  const auto none = mutate("for (j = 0; j < n; ++j)", mutation, 0, "f");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("fault 'f': the text to change stands 0 times in a.comp"),
            std::string::npos);
  const auto twice = mutate("i < n && i < n", mutation, 0, "f");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("2 times"), std::string::npos);
}

TEST(Mutate, ChoosesAtRunTime) {
  Mutation mutation;
  mutation.form = Mutation::Form::expression;
  mutation.from = "a + b";
  mutation.to = "a";
  EXPECT_EQ(*mutate("x = a + b;", mutation, 7, "f"), "x = (planted(7) ? (a) : (a + b));");
  mutation.form = Mutation::Form::statement;
  mutation.from = "sync();";
  mutation.to = "";
  EXPECT_EQ(*mutate("sync();", mutation, 8, "f"), "if (planted(8)) {\n\n} else {\nsync();\n}");
}

TEST(HeldOut, DrawsOtherSizesThatFit) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  for (const char* text :
       {"gemm m=33 n=47 k=65", "attention batch=3 seq=7 heads=4 kv_heads=2 head_dim=17",
        "training_step batch=2 seq=6 width=8 steps=2", "rope batch=3 seq=5 heads=2 head_dim=20 rotary=14"}) {
    const Case c = *parse_case(text, stages);
    std::set<std::string> drawn;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const Case other = held_out_case(c, stages, seed);
      EXPECT_TRUE(stages.find(other.stage)->build(other)) << print_case(other, stages);
      EXPECT_EQ(other, held_out_case(c, stages, seed));
      EXPECT_EQ(other.seed, seed);
      Case sizes = other;
      sizes.seed = c.seed;
      drawn.insert(print_case(sizes, stages));
      EXPECT_NE(sizes, c) << text;
    }
    EXPECT_GT(drawn.size(), 4u) << text;
  }
}

TEST(Catalogue, AReasonHoldsForABackendADeviceOrBoth) {
  DeviceInfo device;
  device.backend = "vulkan";
  device.name = "NVIDIA H200";
  for (const char* where : {"vulkan", "h200", "vulkan:h200", "vulkan:nvidia"})
    EXPECT_TRUE(fits_device(where, device)) << where;
  for (const char* where : {"cuda", "cuda:h200", "vulkan:llvmpipe", "software"})
    EXPECT_FALSE(fits_device(where, device)) << where;
}

}  // namespace
}  // namespace parity::faults
