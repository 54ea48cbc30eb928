#include "reports/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

/// One line, cell by cell.
class CsvLine {
 public:
  void text(std::string_view value) {
    // What a spreadsheet would take for a formula is told to be text.
    const bool formula =
        !value.empty() && std::string_view("=+-@\t").find(value.front()) != std::string_view::npos;
    std::string cell = formula ? "'" : "";
    cell += value;
    if (cell.find_first_of("\",\r\n") == cell.npos) return put(cell);
    std::string quoted = "\"";
    for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    put(quoted + '"');
  }
  void number(double value) { put(fmt::format("{:.9g}", value)); }
  void integer(std::int64_t value) { put(fmt::format("{}", value)); }
  void nothing(int cells) {
    for (int i = 0; i < cells; ++i) put("");
  }
  std::string take() { return line_ + "\r\n"; }

 private:
  void put(std::string_view cell) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += cell;
  }
  std::string line_;
  bool first_ = true;
};

constexpr std::string_view csv_heads[] = {"case",
                                          "rung",
                                          "stage",
                                          "path",
                                          "verdict",
                                          "reason",
                                          "device",
                                          "device_name",
                                          "driver",
                                          "commit",
                                          "started",
                                          "device_seconds",
                                          "op",
                                          "op_path",
                                          "tensor",
                                          "dtype",
                                          "output_verdict",
                                          "elements",
                                          "outside_spread",
                                          "outside_hard",
                                          "max_bound_ratio",
                                          "max_hard_ratio",
                                          "max_abs",
                                          "mean_abs",
                                          "rms",
                                          "max_relative",
                                          "relative_l2",
                                          "cosine",
                                          "max_ulp",
                                          "worst_aggregate",
                                          "replay_compared",
                                          "replay_equal",
                                          "where"};
constexpr int output_cells = 21;  // from "op" on

void record_cells(CsvLine& line, const Record& record) {
  line.text(record.case_text);
  line.integer(record.rung);
  for (const std::string& text :
       {record.stage, record.path, std::string(name_of(record.verdict)), record.reason, record.device.id,
        record.device.name, record.device.driver, record.provenance.commit, record.provenance.started})
    line.text(text);
  if (record.device_seconds.empty()) return line.nothing(1);
  line.number(*std::min_element(record.device_seconds.begin(), record.device_seconds.end()));
}

void output_cells_of(CsvLine& line, const OutputRecord& output) {
  const Judgement& j = output.judgement;
  const ErrorStatistics& s = j.statistics;
  line.text(output.op);
  line.text(output.path);
  line.text(output.tensor);
  line.text(name_of(output.dtype));
  line.text(name_of(j.verdict));
  for (const std::int64_t count : {s.elements, s.outside_spread, s.outside_hard}) line.integer(count);
  for (const double size : {s.max_bound_ratio, s.max_hard_ratio, s.max_abs, s.mean_abs, s.rms, s.max_relative,
                            s.relative_l2, s.cosine, s.ulp_quantiles.back(), j.worst_aggregate})
    line.number(size);
  line.integer(j.replay.compared);
  line.integer(j.replay.equal);
  line.text(j.location.wrong > 0 ? j.location.pattern : "");
}

}  // namespace

std::string to_csv(std::span<const Record> records) {
  CsvLine head;
  for (const std::string_view name : csv_heads) head.text(name);
  std::string out = head.take();
  for (const Record& record : records) {
    for (const OutputRecord& output : record.outputs) {
      CsvLine line;
      record_cells(line, record);
      output_cells_of(line, output);
      out += line.take();
    }
    if (!record.outputs.empty()) continue;
    CsvLine line;
    record_cells(line, record);
    line.nothing(output_cells);
    out += line.take();
  }
  return out;
}

}  // namespace parity
