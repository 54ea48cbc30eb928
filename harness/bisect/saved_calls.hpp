#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "harness/bisect/program_bisection.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

/// The producer as a trace of one op: FOLDER/producer.safetensors with its inputs and what it gave, and
/// FOLDER/manifest.json, so that `parity bisect FOLDER` judges what it gave and, with a device, runs it
/// again.
Result<void> write_producer(const std::filesystem::path& folder, const Producer& producer);

/// The ops of a trace as a program, each with the inputs that were saved: a stage that no table holds. Errors
/// name the op and the port: a kind that is missing or unknown, a port that is, shapes that do not fit, ops
/// that accumulate in different formats.
Result<std::unique_ptr<const Stage>> saved_calls(const OpTable& ops, const std::filesystem::path& folder);

}  // namespace parity
