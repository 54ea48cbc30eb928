#include "harness/tensor/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/npy.hpp"
#include "harness/tensor/test_files.hpp"

namespace parity {
namespace {

using test::bytes_of;
using test::golden;
using test::message;

std::string file(const std::string& json, const std::string& data = "", std::int64_t claimed = -1) {
  const auto length =
      static_cast<std::uint64_t>(claimed < 0 ? static_cast<std::int64_t>(json.size()) : claimed);
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + json + data;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

TEST(SafetensorsTest, ReadsAFileOfSeveralTensors) {
  const std::string path = golden("several.safetensors").string();
  const auto weight = read_safetensors(path, "layer.0.weight");
  ASSERT_TRUE(weight) << message(weight);
  EXPECT_EQ(weight->dtype(), DType::f16);
  EXPECT_EQ(content_hash(*weight), content_hash(*read_npy(golden("f2.npy"))));
  const auto brain = read_safetensors(path, "layer.1.weight");
  ASSERT_TRUE(brain) << message(brain);
  EXPECT_EQ(content_hash(*brain), content_hash(*read_npy(golden("bf16_u2.npy"), true)));
  const auto bias = read_safetensors(path, "layer.0.bias");
  ASSERT_TRUE(bias) << message(bias);
  EXPECT_EQ(to_doubles(*bias), (std::vector<double>{0.0, -0.0, 1.0, -1.5}));
  const auto steps = read_safetensors(path, "steps");
  ASSERT_TRUE(steps) << message(steps);
  EXPECT_EQ(steps->shape(), Shape{});
  EXPECT_EQ(steps->value(0), 17.0);
  EXPECT_EQ(read_safetensors(path, "nothing")->shape(), (Shape{0, 4}));
  EXPECT_NE(message(read_safetensors(path, "mask"))
                .find("tensor 'mask' is of dtype 'BOOL', which is not supported; F64, "),
            std::string::npos);
  EXPECT_NE(message(read_safetensors(path, "quantised")).find("'F8_E4M3', which is not supported"),
            std::string::npos);
  // From memory the same.
  const std::string bytes = test::contents(path);
  for (const char* name : {"layer.0.weight", "layer.0.bias", "layer.1.weight", "steps", "nothing"}) {
    const auto parsed = parse_safetensors(bytes_of(bytes), path, name);
    ASSERT_TRUE(parsed) << message(parsed);
    EXPECT_EQ(content_hash(*parsed), content_hash(*read_safetensors(path, name))) << name;
  }
  const auto entries = parse_safetensors_header(bytes_of(bytes), path);
  ASSERT_TRUE(entries) << message(entries);
  EXPECT_EQ(entries->size(), 7U);
  EXPECT_TRUE(std::is_sorted(entries->begin(), entries->end(),
                             [](const auto& a, const auto& b) { return a.end < b.end; }));
}

TEST(SafetensorsTest, AWrongNameGetsTheNearestOnes) {
  const std::string path = golden("several.safetensors").string();
  const std::string text = message(read_safetensors(path, "layer.0.wieght"));
  EXPECT_NE(
      text.find("has no tensor 'layer.0.wieght'; the nearest names are 'layer.0.weight', 'layer.1.weight'"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("and 2 more"), std::string::npos) << text;
  EXPECT_NE(message(parse_safetensors(bytes_of(file("{}")), "x", "w")).find("x: holds no tensor at all"),
            std::string::npos);
}

/// A header of these entries.
std::string object(const std::vector<std::string>& entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

struct MalformedSafetensors {
  const char* name;
  std::string bytes;
  std::string expected;
};

std::vector<MalformedSafetensors> malformed_safetensors() {
  const std::string data(8, '\0');
  const std::string good = entry("a", "F32", "[2]", "[0,8]");
  const auto one = [&](const std::string& shape, const std::string& offsets) {
    return file(object({entry("a", "F32", shape, offsets)}), data);
  };
  return {
      {"empty file", "", "0 bytes are too few for a .safetensors file"},
      {"cut in the length", "\x01\x02\x03", "3 bytes are too few"},
      {"length beyond the file", file("{}", "", 1000), "the header claims 1000 bytes, but only 2 follow"},
      {"length of 2^64-1", std::string(8, '\xff') + "{}", "the header claims 18446744073709551615 bytes"},
      {"length that wraps around", std::string(1, '\xf8') + std::string(7, '\xff') + "{}",
       "the header claims 18446744073709551608 bytes"},
      {"length over the limit", file(std::string(100'000'001, ' ')), "the format's limit is 100000000"},
      {"empty header", file(""), "no valid JSON"},
      {"no JSON", file("weights!"), "no valid JSON near byte 1"},
      {"cut JSON", file(std::string("{").append(good)), "no valid JSON"},
      {"rest after JSON", file(object({good}).append(" x"), data), "no valid JSON"},
      {"invalid UTF-8", file("{\"\xff\xfe\":1}"), "no valid JSON"},
      {"a list", file("[1,2]"), "a list where an object with all tensors is due"},
      {"a number", file("7"), "a number where an object with all tensors is due"},
      {"deep nesting", file(std::string(1'000'000, '[')), "a list where an object"},
      {"deep nesting inside", file("{\"a\":" + test::repeated("{\"x\":", 100'000)),
       "the unknown field 'x' for 'a'"},
      {"deep nesting in a shape", file("{\"a\":{\"shape\":" + std::string(100'000, '[')),
       "a list as, or inside, 'shape' of 'a'"},
      {"entry is a number", file("{\"a\":3}"), "a number as the value of 'a' instead of an object"},
      {"entry is a list", file("{\"a\":[]}"), "a list as the value of 'a' instead of an object"},
      {"entry is null", file("{\"a\":null}"), "null as the value of 'a'"},
      {"no dtype", file("{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", data), "no 'dtype' for 'a'"},
      {"no shape", file("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", data), "no 'shape' for 'a'"},
      {"no offsets", file("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", data), "no 'data_offsets' for 'a'"},
      {"unknown field", file("{\"a\":{\"dtype\":\"F32\",\"stride\":[2]}}", data),
       "the unknown field 'stride' for 'a'"},
      {"field twice", file("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F16\"}}", data), "'dtype' twice for 'a'"},
      {"name twice", file(object({good, good}), data), "the name 'a' twice"},
      {"metadata twice", file("{\"__metadata__\":{},\"__metadata__\":{}}"), "the name '__metadata__' twice"},
      {"metadata of numbers", file("{\"__metadata__\":{\"k\":1}}"),
       "a number inside '__metadata__', which holds text only"},
      {"metadata of objects", file("{\"__metadata__\":{\"k\":{}}}"), "an object inside '__metadata__'"},
      {"dtype is a number", file("{\"a\":{\"dtype\":5}}"), "a number as, or inside, 'dtype' of 'a'"},
      {"dtype is a list", file("{\"a\":{\"dtype\":[]}}"), "a list as, or inside, 'dtype' of 'a'"},
      {"shape is text", file("{\"a\":{\"shape\":\"2\"}}"), "text as, or inside, 'shape' of 'a'"},
      {"shape is a number", file("{\"a\":{\"shape\":2}}"), "a number as, or inside, 'shape' of 'a'"},
      {"shape of text", one("[\"2\"]", "[0,8]"), "text as, or inside, 'shape' of 'a'"},
      {"negative dimension", one("[-2]", "[0,8]"), "the negative dimension -2 of 'a'"},
      {"fractional dimension", one("[2.5]", "[0,8]"), "dimension '2.5' of 'a', which is no integer"},
      {"dimension over 64 bits", one("[99999999999999999999]", "[0,8]"),
       "dimension '99999999999999999999' of 'a'"},
      {"dimension over 63 bits", one("[9223372036854775808]", "[0,8]"),
       "the dimension 9223372036854775808 of 'a', which does not fit"},
      {"product over 64 bits", one("[4294967296,4294967296]", "[0,8]"),
       "tensor 'a': shape [4294967296, 4294967296]: the number of elements overflows 64 bits"},
      {"bytes over 64 bits", one("[4611686018427387904]", "[0,8]"),
       "needs 4611686018427387904 elements of 32 bits"},
      {"33 dimensions", one(std::string("[1").append(test::repeated(",1", 32)).append("]"), "[0,8]"),
       "more than 32 dimensions for 'a'"},
      {"one offset", one("[2]", "[8]"), "1 data_offsets for 'a' instead of two"},
      {"three offsets", one("[2]", "[0,4,8]"), "more than two data_offsets for 'a'"},
      {"negative offset", one("[2]", "[-1,8]"), "the negative data offset -1 of 'a'"},
      {"backwards", one("[2]", "[8,0]"), "data_offsets [8, 0], which run backwards"},
      {"beyond the file", one("[3]", "[0,12]"),
       "ends at data byte 12, but only 8 bytes follow the header; is the file truncated?"},
      {"size is not shape", one("[3]", "[0,8]"),
       "needs 3 elements of 32 bits, but its data_offsets [0, 8] span 8 bytes"},
      {"half a byte", file(object({entry("a", "F4", "[3]", "[0,1]")}), "x"), "needs 3 elements of 4 bits"},
      {"overlap", file(object({good, entry("b", "F16", "[2]", "[4,8]")}), data),
       "tensors 'a' and 'b' overlap: one ends at data byte 8, the other begins at 4"},
      {"hole", file(object({entry("a", "F32", "[1]", "[4,8]")}), data),
       "no tensor covers the data bytes 0 to 4"},
      {"trailing bytes", file(object({good}), data + "xyz"), "3 bytes follow the last tensor"},
      {"unknown dtype", file(object({entry("a", "F99", "[2]", "[0,8]")}), data),
       "tensor 'a' is of dtype 'F99', which is unknown"},
      {"control bytes in a name", file(object({entry("a\\u001b[2J", "F32", "[3]", "[0,8]")}), data),
       "tensor 'a\\x1b[2J'"},
  };
}

TEST(SafetensorsTest, MalformedFilesGetAnErrorThatSaysWhat) {
  const test::TemporaryFolder folder;
  for (const MalformedSafetensors& bad : malformed_safetensors()) {
    const auto parsed = parse_safetensors(bytes_of(bad.bytes), "some.safetensors", "a");
    EXPECT_NE(message(parsed).find(bad.expected), std::string::npos) << bad.name << ": " << message(parsed);
    EXPECT_EQ(message(parsed).find("some.safetensors: "), 0U) << message(parsed);
    EXPECT_LT(message(parsed).size(), 400U) << bad.name;
    test::write(folder / "x.safetensors", bad.bytes);
    const auto read = read_safetensors(folder / "x.safetensors", "a");
    EXPECT_NE(message(read).find(bad.expected), std::string::npos) << bad.name << ": " << message(read);
  }
}

TEST(SafetensorsTest, EveryPrefixOfAFileIsAnError) {
  const std::string whole = test::contents(golden("several.safetensors"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_safetensors_header(bytes_of(whole.substr(0, size)), "x")) << size;
  }
}

TEST(SafetensorsTest, AnUnknownDtypeDoesNotHideTheOthers) {
  const std::string bytes =
      file(object({entry("new", "F4_E9", "[5]", "[0,3]"), entry("a", "F32", "[1]", "[3,7]")}),
           "xyz" + std::string(4, '\0'));
  EXPECT_TRUE(parse_safetensors(bytes_of(bytes), "x", "a"));
  EXPECT_FALSE(parse_safetensors(bytes_of(bytes), "x", "new"));
}

TEST(SafetensorsTest, OnlyTheTensorsOwnBytesAreRead) {
  // A sparse file of 4 GB: reading it whole would take far more memory and time than this test has.
  const test::TemporaryFolder folder;
  const std::uint64_t huge = std::uint64_t{1} << 32;
  const std::string json = object({entry("huge", "F32", "[1073741824]", fmt::format("[0,{}]", huge)),
                                   entry("tail", "F32", "[2]", fmt::format("[{},{}]", huge, huge + 8))});
  test::write(folder / "big.safetensors", file(json));
  std::filesystem::resize_file(folder / "big.safetensors", 8 + json.size() + huge + 8);
  const auto tail = read_safetensors(folder / "big.safetensors", "tail");
  ASSERT_TRUE(tail) << message(tail);
  EXPECT_EQ(tail->shape(), Shape{2});
}

TEST(SafetensorsTest, WritesWhatItReads) {
  const test::TemporaryFolder folder;
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : all_dtypes) {
    for (const auto& [shape, strides] : {std::pair<Shape, Strides>{{}, {}},
                                         {{3}, {}},
                                         {{2, 3}, {5, 1}},
                                         {{2, 3, 4}, {1, 2, 6}},
                                         {{0, 3}, {}}}) {
      Tensor tensor = *Tensor::create(dtype, shape, strides);
      for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, static_cast<double>(i) - 2.25);
      tensors.emplace(std::string(name_of(dtype)) + " \"\xc3\xa9\" " + to_string(shape), tensor);
    }
  }
  const auto written = write_safetensors(folder / "t.safetensors", tensors);
  ASSERT_TRUE(written) << message(written);
  for (const auto& [name, tensor] : tensors) {
    const auto back = read_safetensors(folder / "t.safetensors", name);
    ASSERT_TRUE(back) << message(back);
    EXPECT_EQ(content_hash(*back), content_hash(tensor)) << name;
  }
  ASSERT_TRUE(write_safetensors(folder / "none.safetensors", {}));
  EXPECT_NE(message(read_tensor((folder / "none.safetensors").string())).find("holds no tensor at all"),
            std::string::npos);
  EXPECT_NE(message(write_safetensors(folder / "u.safetensors", {{"\xff", Tensor()}})).find("no valid UTF-8"),
            std::string::npos);
  EXPECT_NE(message(write_safetensors(folder / "u.safetensors", {{"__metadata__", Tensor()}}))
                .find("cannot be a tensor's name"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "u.safetensors"));
}

TEST(ReadTensorTest, ReferencesNameFilesAndTensors) {
  const std::string several = golden("several.safetensors").string(),
                    one = golden("one.safetensors").string();
  EXPECT_EQ(read_tensor(several + ":layer.0.weight")->dtype(), DType::f16);
  EXPECT_EQ(content_hash(*read_tensor(one)), content_hash(*read_npy(golden("f4.npy"))));
  EXPECT_EQ(content_hash(*read_tensor(one + ":weight")), content_hash(*read_tensor(one)));
  EXPECT_EQ(read_tensor(golden("f4.npy").string())->dtype(), DType::f32);
  EXPECT_EQ(read_tensor(golden("bf16_v2.npy").string() + ":bf16")->dtype(), DType::bf16);
  const std::string many = message(read_tensor(several));
  EXPECT_NE(many.find("holds 7 tensors; name one as '"), std::string::npos) << many;
  EXPECT_NE(many.find("'steps'"), std::string::npos) << many;
  EXPECT_NE(message(read_tensor(golden("f4.npy").string() + ":f16"))
                .find("':f16' means nothing for a .npy file; only ':bf16' does"),
            std::string::npos);
  EXPECT_NE(message(read_tensor("weights.bin")).find("'weights.bin' names no tensor: give FILE.npy"),
            std::string::npos);
  EXPECT_NE(message(read_tensor("")).find("'' names no tensor"), std::string::npos);
  EXPECT_NE(message(read_tensor(several + ":")).find("has no tensor ''"), std::string::npos);
}

}  // namespace
}  // namespace parity
