#include "reports/order_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "reports/markdown_text.hpp"
#include "reports/summary.hpp"

namespace parity {
namespace {

using RowKey = std::tuple<std::string, std::string, std::string, std::string>;

/// Experiments on one device, gathered.
class OrderRows {
 public:
  void add(const std::string& op, const std::string& path, const std::string& what, const std::string& along,
           const OrderSpread& spread, bool plain) {
    OrderRow& row = rows_[{op, path, what, along}];
    row.op = op, row.path = path, row.what = what, row.along = along;
    ++row.cases;
    row.same_bits += spread.bit_equal ? 1 : 0;
    // Sizes of plain data; of others only where there are none.
    if (plain && !row.plain) row.max_ulp = 0;
    row.plain = row.plain || plain;
    if (plain == row.plain) row.max_ulp = std::max(row.max_ulp, spread.max_range_ulp);
    if (plain) row.max_sigma = std::max(row.max_sigma, spread.rms_deviation_sigma);
  }
  std::vector<OrderRow> rows() const {
    std::vector<OrderRow> all;
    for (const auto& [key, row] : rows_) all.push_back(row);
    return all;
  }

 private:
  std::map<RowKey, OrderRow> rows_;
};

std::string file_name(const std::string& device) {
  std::string name = "order_";
  for (const char c : device) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return name + ".svg";
}

}  // namespace

std::vector<OrderFigure> order_figures(std::span<const Record> records) {
  std::vector<std::string> devices;
  std::map<std::string, std::string> names;
  std::map<std::string, OrderRows> rows;
  for (const Record& record : records) {
    const OrderEffects& order = record.order;
    if (order.experiments.empty() && !order.run_to_run) continue;
    if (names.emplace(record.device.id, record.device.name).second) devices.push_back(record.device.id);
    OrderRows& own = rows[record.device.id];
    // The predicted deviation knows nothing of flushed subnormals and the like.
    const bool plain = record.case_text.find(" fill=normal") != std::string::npos ||
                       record.case_text.find(" fill=uniform") != std::string::npos;
    if (order.run_to_run)
      own.add("every rung", record.path, "repeated", "run to run", *order.run_to_run, plain);
    for (const OrderExperiment& e : order.experiments)
      own.add(e.op, e.path, e.what, e.along, e.spread, plain);
  }
  std::vector<OrderFigure> figures;
  for (const std::string& device : devices) {
    OrderFigure figure;
    figure.device = device + " " + names[device];
    figure.file = file_name(device);
    figure.rows = rows[device].rows();
    figure.svg = order_svg(figure.device, figure.rows);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string order_markdown(std::span<const OrderFigure> figures, bool images) {
  std::string out;
  for (const OrderFigure& figure : figures) {
    out += out.empty()
               ? "## Order of summation\n\nThe same sums in another order, on the device: terms *permuted*, "
                 "sums *split* into calls that the host adds, entries of a batch *alone*, entries and "
                 "columns *moved*, runs *repeated*. The range of an element in ULP of the result; the rms "
                 "deviation in units of the predicted one (expected 0.5 to 2).\n\n"
               : "";
    out += "### " + markdown_text(figure.device) + "\n\n";
    if (images) out += fmt::format("![order of summation]({})\n\n", figure.file);
    out +=
        "| op | path | experiment | cases | same bits | max ulp | sigma |\n|---|---|---|--:|--:|--:|--:|\n";
    for (const OrderRow& row : figure.rows)
      out += fmt::format("| {} | {} | {} {} | {} | {} | {} | {} |\n", markdown_text(row.op),
                         markdown_text(row.path), row.what, markdown_text(row.along), row.cases,
                         row.same_bits, row.max_ulp > 0 ? brief_number(row.max_ulp) : "-",
                         row.max_sigma > 0 ? brief_number(row.max_sigma) : "-");
    out += "\n";
  }
  return out;
}

}  // namespace parity
