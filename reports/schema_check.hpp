#pragma once
// For tests: a JSON value against a JSON schema (the part of the 2020-12 draft that docs/record.schema.json
// uses).
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace parity {

/// What does not fit, each with its place ("outputs[0].op: ..."). A keyword that is not understood does not
/// fit either, so that none is passed over.
std::vector<std::string> schema_problems(const nlohmann::json& schema, const nlohmann::json& value);

/// The schema of a record, from the project's docs.
nlohmann::json record_json_schema();

}  // namespace parity
