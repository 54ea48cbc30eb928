#pragma once
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>

namespace parity::cli {

/// A number from `least` to `most`. CLI::Range lets "nan" pass, with which no limit is ever exceeded.
inline CLI::Validator number_in(double least, double most) {
  const std::string range = fmt::format("FLOAT in [{:g} - {:g}]", least, most);
  return {[=](std::string& text) {
            double value = 0;
            const bool is_in = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return is_in ? std::string() : fmt::format("{} is no {}", text, range);
          },
          range};
}

}  // namespace parity::cli
