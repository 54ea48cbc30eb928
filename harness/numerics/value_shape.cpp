#include "harness/numerics/value_shape.hpp"

#include <algorithm>

#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

/// Calls body(from, to) for every array that is there; `to` has the sizes of `result`.
template <class Body>
void for_each_array(const Value& from, Value& result, const Body& body) {
  const auto size = static_cast<std::size_t>(result.size());
  for (const auto array : {&Value::v, &Value::hard, &Value::systematic, &Value::mean, &Value::variance}) {
    const std::vector<double>& source = from.*array;
    if (source.empty()) continue;
    std::vector<double>& target = result.*array;
    if (target.size() != size) target.assign(size, 0.0);  // a part without errors beside one with errors
    body(source, target);
  }
  result.bits_known = result.bits_known && from.bits_known;
}

Value sized(std::int64_t batch, std::int64_t rows, std::int64_t cols) {
  return make_value(batch, rows, cols);
}

}  // namespace

Value constant(double x) {
  return filled(1, 1, 1, x);
}

Value filled(std::int64_t batch, std::int64_t rows, std::int64_t cols, double x) {
  Value value = sized(batch, rows, cols);
  std::ranges::fill(value.v, x);
  return value;
}

Value reshape(Value x, std::int64_t batch, std::int64_t rows, std::int64_t cols) {
  if (batch != x.batch || rows != x.rows) x.row_kin = x.col_kin = {};
  x.batch = batch;
  x.rows = rows;
  x.cols = cols;
  return x;
}

Value take_rows(const Value& x, std::span<const std::int64_t> rows) {
  Value result = sized(1, static_cast<std::int64_t>(rows.size()), x.cols);
  for_each_array(x, result, [&](const std::vector<double>& from, std::vector<double>& to) {
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(from.begin() + rows[r] * x.cols, x.cols,
                  to.begin() + static_cast<std::int64_t>(r) * x.cols);
  });
  return result;
}

Value take_cols(const Value& x, std::int64_t first, std::int64_t count) {
  Value result = sized(x.batch, x.rows, count);
  for_each_array(x, result, [&](const std::vector<double>& from, std::vector<double>& to) {
    for (std::int64_t r = 0; r < x.batch * x.rows; ++r)
      std::copy_n(from.begin() + r * x.cols + first, count, to.begin() + r * count);
  });
  return result;
}

Value concat_cols(const std::vector<Value>& parts) {
  std::int64_t cols = 0;
  for (const Value& part : parts) cols += part.cols;
  Value result = sized(parts.front().batch, parts.front().rows, cols);
  std::int64_t first = 0;
  for (const Value& part : parts) {
    for_each_array(part, result, [&](const std::vector<double>& from, std::vector<double>& to) {
      for (std::int64_t r = 0; r < part.batch * part.rows; ++r)
        std::copy_n(from.begin() + r * part.cols, part.cols, to.begin() + r * cols + first);
    });
    first += part.cols;
  }
  return result;
}

Value concat_rows(const std::vector<Value>& parts) {
  std::int64_t rows = 0;
  for (const Value& part : parts) rows += part.rows;
  Value result = sized(1, rows, parts.front().cols);
  std::int64_t first = 0;
  for (const Value& part : parts) {
    for_each_array(part, result, [&](const std::vector<double>& from, std::vector<double>& to) {
      std::ranges::copy(from, to.begin() + first);
    });
    first += part.size();
  }
  return result;
}

Value transpose(const Value& x) {
  Value result = sized(x.batch, x.cols, x.rows);
  for_each_array(x, result, [&](const std::vector<double>& from, std::vector<double>& to) {
    for (std::int64_t b = 0; b < x.batch; ++b)
      for (std::int64_t r = 0; r < x.rows; ++r)
        for (std::int64_t c = 0; c < x.cols; ++c)
          to[static_cast<std::size_t>((b * x.cols + c) * x.rows + r)] =
              from[static_cast<std::size_t>((b * x.rows + r) * x.cols + c)];
  });
  return result;
}

Value select(const std::vector<bool>& choose, const Value& yes, const Value& no) {
  Value result = sized(yes.batch, yes.rows, yes.cols);
  const auto pick = [&](const Value& x, bool wanted) {
    for_each_array(x, result, [&](const std::vector<double>& from, std::vector<double>& to) {
      for (std::size_t i = 0; i < choose.size(); ++i)
        if (choose[i] == wanted) to[i] = from[i];
    });
  };
  pick(yes, true);
  pick(no, false);
  return result;
}

}  // namespace parity
