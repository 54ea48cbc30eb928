#include "reports/record_json.hpp"

#include <fmt/core.h>

#include "reports/json_archive.hpp"

namespace parity {

std::string to_json_line(const Record& record) {
  ArchiveJson fields;
  JsonWriter writer(fields);
  writer("schema", record_schema);
  record_fields(writer, record);
  return dump_json(fields);
}

std::string device_to_json(const DeviceInfo& device) {
  ArchiveJson fields;
  JsonWriter writer(fields);
  record_fields(writer, device);
  return dump_json(fields);
}

Result<Record> parse_record_json(std::string_view line) {
  const ArchiveJson json = ArchiveJson::parse(line, nullptr, false);
  if (json.is_discarded()) return bad_input("this is not a complete line of JSON");
  if (json.is_object() && !json.contains("schema"))
    return bad_input(
        "this is no record, for the field 'schema' is missing; `parity run --out` leaves records");
  std::string error;
  JsonReader reader(json, {}, error);
  int schema = 0;
  reader("schema", schema);
  if (error.empty() && schema != record_schema)
    return bad_input(
        fmt::format("the record has schema {} and this program reads schema {}", schema, record_schema));
  Record record;
  record_fields(reader, record);
  if (!error.empty()) return bad_input(std::move(error));
  return record;
}

}  // namespace parity
