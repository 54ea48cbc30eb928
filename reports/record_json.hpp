#pragma once
#include <string>
#include <string_view>

#include "harness/ladder/record.hpp"

namespace parity {

/// Version of the record's JSON form; a reader refuses a newer one.
inline constexpr int record_schema = 1;

/// A record as one line of JSON, without a newline: every statistic, for passes too. JSON has no NaN and no
/// infinity: they are the strings "nan", "inf" and "-inf". Doubles are written so that they read back the
/// same bits; bit patterns are hexadecimal strings. Bytes that are not UTF-8 are replaced by U+FFFD.
std::string to_json_line(const Record& record);

/// The inverse: parse_record_json(to_json_line(r)) == r, field by field. The error names the field, what it
/// has and what it needs. Unknown fields are ignored.
Result<Record> parse_record_json(std::string_view line);

/// A device as JSON, for `parity devices --json`: the object that a record holds under "device".
std::string device_to_json(const DeviceInfo& device);

}  // namespace parity
