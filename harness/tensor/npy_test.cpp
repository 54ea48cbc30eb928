#include "harness/tensor/npy.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/file_io.hpp"
#include "harness/tensor/safetensors.hpp"
#include "harness/tensor/test_files.hpp"

namespace parity {
namespace {

using test::bytes_of;
using test::golden;
using test::message;

const std::vector<double> golden_values = {0.0,  -0.0, 1.0, -1.5,  0x1p-24, 65504.0,
                                           0.25, -3.0, 7.0, 100.0, -2.0,    0.5};

void expect_values(const Result<Tensor>& tensor, DType dtype, const Shape& shape,
                   const std::vector<double>& values) {
  ASSERT_TRUE(tensor) << message(tensor);
  EXPECT_EQ(tensor->dtype(), dtype);
  EXPECT_EQ(tensor->shape(), shape);
  EXPECT_TRUE(tensor->contiguous());
  ASSERT_EQ(tensor->elements(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(tensor->bits(static_cast<std::int64_t>(i)), encode(dtype, values[i])) << i;
  }
}

/// The file and the same bytes in memory must read alike.
Result<Tensor> read_both(const std::string& name, bool as_bf16 = false) {
  const auto file = read_npy(golden(name), as_bf16);
  const auto memory = parse_npy(bytes_of(test::contents(golden(name))), golden(name).string(), as_bf16);
  EXPECT_EQ(file.has_value(), memory.has_value()) << name;
  if (!file || !memory) {
    EXPECT_EQ(message(file), message(memory));
  } else {
    EXPECT_EQ(content_hash(*file), content_hash(*memory)) << name;
  }
  return file;
}

TEST(NpyTest, ReadsWhatNumpyWrote) {
  expect_values(read_both("f8.npy"), DType::f64, {3, 4}, golden_values);
  expect_values(read_both("f4.npy"), DType::f32, {3, 4}, golden_values);
  expect_values(read_both("f2.npy"), DType::f16, {3, 4}, golden_values);
  expect_values(read_both("version_2.npy"), DType::f32, {3, 4}, golden_values);
  expect_values(read_both("version_3.npy"), DType::f32, {3, 4}, golden_values);
  expect_values(read_both("i4.npy"), DType::i32, {2, 2}, {-2147483648.0, 2147483647.0, 0.0, -7.0});
  expect_values(read_both("int8.npy"), DType::i8, {2, 2}, {-128.0, 127.0, 0.0, -7.0});
  expect_values(read_both("bf16_u2.npy", true), DType::bf16, {3}, {1.0, -2.5, 0x1p-130});
  expect_values(read_both("bf16_v2.npy", true), DType::bf16, {3}, {1.0, -2.5, 0x1p-130});
  expect_values(read_both("scalar.npy"), DType::f64, {}, {2.5});
  expect_values(read_both("empty.npy"), DType::f32, {3, 0, 2}, {});
}

TEST(NpyTest, FortranOrderBecomesRowMajor) {
  expect_values(read_both("fortran_2d.npy"), DType::f32, {3, 4}, golden_values);
  std::vector<double> counted(24);
  for (std::size_t i = 0; i < 24; ++i) counted[i] = static_cast<double>(i);
  expect_values(read_both("fortran_3d.npy"), DType::i32, {2, 3, 4}, counted);
}

TEST(NpyTest, RefusesOtherDtypesByName) {
  EXPECT_NE(message(read_both("big_endian.npy")).find("dtype '>f4' is big-endian; save it as '<f4'"),
            std::string::npos);
  EXPECT_NE(message(read_both("i8.npy"))
                .find("dtype '<i8' is not supported; '<f8', '<f4', '<f2', '<i4', '|i1' are"),
            std::string::npos);
  EXPECT_NE(message(read_both("structured.npy")).find("structured dtype"), std::string::npos);
  EXPECT_NE(message(read_both("bf16_u2.npy")).find("bf16_u2.npy:bf16'"), std::string::npos);
  EXPECT_NE(message(read_both("f4.npy", true)).find("cannot be read as bf16"), std::string::npos);
}

std::string npy(const std::string& header, const std::string& data = "", int claimed = -1, char major = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += major;
  bytes += '\0';
  const auto length = static_cast<std::size_t>(claimed < 0 ? static_cast<int>(header.size()) : claimed);
  for (std::size_t i = 0; i < (major == 1 ? 2U : 4U); ++i)
    bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + header + data;
}

struct MalformedNpy {
  const char* name;
  std::string bytes;
  const char* expected;
};

std::vector<MalformedNpy> malformed_npy() {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  const auto shape = [](const std::string& text) {
    return npy(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ").append(text).append("}"),
               std::string(8, '\0'));
  };
  const std::string data(8, '\0');
  return {
      {"empty file", "", "0 bytes are too few for a .npy file"},
      {"cut in the magic", "\x93NUM", "4 bytes are too few"},
      {"another kind of file", "PK\x03\x04 and so on and on", "not a .npy file"},
      {"version 9", npy(good, data, -1, 9), "version 9.0 is unknown"},
      {"version 2 cut in its length", npy("", "", 0, 2).substr(0, 11), "ends inside the preamble"},
      {"header length beyond the file", npy(good, data, 60000),
       "the .npy header claims 60000 bytes, but only 66 bytes follow"},
      {"header length of 4 GB", npy(good, data, 0x7fffffff, 2), "the .npy header claims 2147483647 bytes"},
      {"header length too large", npy(std::string(2 << 20, ' '), "", -1, 2), "the limit is 1048576"},
      {"header length too short", npy(good, data, 20), "has a quote that is never closed"},
      {"empty header", npy("", data), "does not start with '{'"},
      {"no dictionary", npy("[1, 2]", data), "does not start with '{'"},
      {"never closed", npy("{'descr': '<f4'", data), "has neither ',' nor '}'"},
      {"open quote", npy("{'descr: ", data), "a quote that is never closed"},
      {"no colon", npy("{'descr' '<f4'}", data), "has no ':' after the key 'descr'"},
      {"rest after the dictionary",
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} import os", data),
       "goes on after its '}': \"import os\""},
      {"no descr", npy("{'fortran_order': False, 'shape': (2,)}", data), "has no 'descr'"},
      {"no order", npy("{'descr': '<f4', 'shape': (2,)}", data), "has no 'fortran_order'"},
      {"no shape", npy("{'descr': '<f4', 'fortran_order': False}", data), "has no 'shape'"},
      {"descr twice", npy("{'descr': '<f4', 'descr': '<f8'}", data), "has 'descr' twice"},
      {"order twice", npy("{'fortran_order': True, 'fortran_order': False}", data),
       "has 'fortran_order' twice"},
      {"shape twice", npy("{'shape': (), 'shape': (2,)}", data), "has 'shape' twice"},
      {"unknown key", npy("{'descr': '<f4', 'evil\x01': 3}", data), "has the unknown key 'evil\\x01'"},
      {"order is no boolean", npy("{'fortran_order': 1}", data), "neither True nor False"},
      {"escape", npy("{'descr': '\\x3cf4'}", data), "an escape in quoted text"},
      {"descr is a number", npy("{'descr': 4}", data), "has no quoted text where one is due"},
      {"object dtype", npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", data),
       "dtype '|O' is not supported"},
      {"empty dtype", npy("{'descr': '', 'fortran_order': False, 'shape': (2,)}", data),
       "dtype '' is not supported"},
      {"shape is a list", shape("[2]"), "a 'shape' that is not a tuple"},
      {"shape is a number", shape("(2)"), "a number in parentheses, not a tuple"},
      {"shape of text", shape("('2',)"), "a dimension that is not an integer"},
      {"shape of a fraction", shape("(2.0,)"), "neither ',' nor ')' after a dimension"},
      {"negative dimension", shape("(-2,)"), "the negative dimension -2"},
      {"dimension over 64 bits", shape("(99999999999999999999,)"), "does not fit 64 bits"},
      {"product over 64 bits", shape("(4294967296, 4294967296)"), "the number of elements overflows 64 bits"},
      {"product wraps to 2", shape("(9223372036854775807, 2, 3)"),
       "the number of elements overflows 64 bits"},
      {"huge shape, no data", shape("(1000000000000,)"),
       "needs 1000000000000 elements of 4 bytes, but only 8 bytes follow"},
      {"33 dimensions", shape(std::string("(").append(test::repeated("1,", 33)).append(")")),
       "more than 32 dimensions"},
      {"truncated data", npy(good, std::string(7, '\0')),
       "needs 2 elements of 4 bytes, but only 7 bytes follow the header; is it truncated?"},
      {"trailing bytes", npy(good, std::string(13, '\0')), "5 bytes follow the data of shape [2]"},
      {"trailing byte after nothing", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 3)}", "x"),
       "1 bytes follow the data of shape [0, 3]"},
  };
}

TEST(NpyTest, MalformedFilesGetAnErrorThatSaysWhat) {
  const test::TemporaryFolder folder;
  for (const MalformedNpy& file : malformed_npy()) {
    const auto parsed = parse_npy(bytes_of(file.bytes), "some.npy");
    EXPECT_NE(message(parsed).find(file.expected), std::string::npos) << file.name << ": " << message(parsed);
    EXPECT_EQ(message(parsed).find("some.npy: "), 0U) << message(parsed);
    test::write(folder / "x.npy", file.bytes);
    const auto read = read_npy(folder / "x.npy");
    EXPECT_NE(message(read).find(file.expected), std::string::npos) << file.name << ": " << message(read);
    if (!read) {
      EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
    }
  }
}

TEST(NpyTest, EveryPrefixOfAFileIsAnError) {
  for (const char* name : {"f2.npy", "version_2.npy", "fortran_3d.npy"}) {
    const std::string whole = test::contents(golden(name));
    ASSERT_TRUE(parse_npy(bytes_of(whole), name));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(parse_npy(bytes_of(whole.substr(0, size)), name)) << name << " " << size;
    }
  }
}

TEST(NpyTest, PlainVariantsOfTheHeaderAreFine) {
  const std::string data(8, '\0');
  for (const std::string header : {"{'descr':'<f4','fortran_order':False,'shape':(2,)}",
                                   "{\"shape\": (2L,), \"fortran_order\": True, \"descr\": \"<f4\"}\n",
                                   "  {'shape': (1, 2), 'descr': '<f4', 'fortran_order': False,}   \n"}) {
    EXPECT_TRUE(parse_npy(bytes_of(npy(header, data)), "x")) << header;
  }
}

TEST(NpyTest, WritesWhatItReads) {
  const test::TemporaryFolder folder;
  for (const DType dtype : all_dtypes) {
    for (const auto& [shape, strides] : {std::pair<Shape, Strides>{{}, {}},
                                         {{3}, {}},
                                         {{2, 3}, {5, 1}},
                                         {{2, 3, 4}, {1, 2, 6}},
                                         {{0, 3}, {}}}) {
      Tensor tensor = *Tensor::create(dtype, shape, strides);
      for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, static_cast<double>(i) - 2.25);
      const auto written = write_npy(folder / "t.npy", tensor);
      ASSERT_TRUE(written) << message(written);
      const auto back = read_npy(folder / "t.npy", dtype == DType::bf16);
      ASSERT_TRUE(back) << message(back);
      EXPECT_EQ(content_hash(*back), content_hash(tensor)) << name_of(dtype) << to_string(shape);
      EXPECT_EQ(test::contents(folder / "t.npy").find('\n') % 64, 63U);
    }
  }
  // NumPy's own bytes, for the dtypes that both write alike.
  for (const char* name : {"f8.npy", "f4.npy", "f2.npy", "i4.npy", "int8.npy", "scalar.npy", "empty.npy"}) {
    const auto read = read_npy(golden(name));
    ASSERT_TRUE(read) << message(read);
    ASSERT_TRUE(write_npy(folder / name, *read));
    EXPECT_EQ(test::contents(folder / name), test::contents(golden(name))) << name;
  }
}

TEST(NpyTest, MissingFilesAndFoldersAreErrors) {
  const test::TemporaryFolder folder;
  EXPECT_NE(message(read_npy(folder / "none.npy")).find("none.npy: cannot open it for reading: No such file"),
            std::string::npos);
  EXPECT_NE(message(read_npy(folder.path())).find("not a regular file"), std::string::npos);
  // A pipe that nobody writes to is refused, not waited for.
  ASSERT_EQ(::mkfifo((folder / "pipe.npy").c_str(), 0600), 0);
  EXPECT_NE(message(read_npy(folder / "pipe.npy")).find("not a regular file"), std::string::npos);
  std::filesystem::remove(folder / "pipe.npy");
  const Tensor tensor = *Tensor::create(DType::f32, {2});
  EXPECT_NE(message(write_npy(folder / "no" / "t.npy", tensor))
                .find("cannot create a file beside it: No such file"),
            std::string::npos);
  std::filesystem::create_directory(folder / "t.npy");
  EXPECT_NE(message(write_npy(folder / "t.npy", tensor)).find("the file is left as it was"),
            std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);  // nothing left behind
}

TEST(NpyTest, AWriteThatFailsLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  Tensor tensor = *Tensor::create(DType::f32, {1000});
  ASSERT_TRUE(write_npy(folder / "t.npy", tensor));
  const std::string before = test::contents(folder / "t.npy");
  // A limit on file sizes stands in for a full disk: the write comes back short.
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 1024;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  tensor.set_value(0, 1.0);
  const auto written = write_npy(folder / "t.npy", tensor);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message(written).find("t.npy: cannot write it: File too large; the file is left as it was"),
            std::string::npos)
      << message(written);
  EXPECT_EQ(test::contents(folder / "t.npy"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(PrintableTest, HidesControlBytesAndCutsLongText) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable(std::string("a\0\x1b[2Jz\xff", 8)), "a\\x00\\x1b[2Jz\\xff");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace parity
