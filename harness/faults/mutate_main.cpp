// parity_mutate: makes the sources of faulty kernels from the production ones and the catalogue of faults,
// when the project is built. A text that is not found exactly once ends the build.
//
//   parity_mutate vulkan|cuda SOURCES OUTPUT CATALOGUE... [FILE.cu...]
//
// vulkan: every fault gets a folder OUTPUT/FAULT with copies of all of SOURCES, its own mutation made, and
// OUTPUT/mutants.txt a line "FAULT MODULE..." for each. cuda: the files named at the end, and the headers
// that a fault changes, are written to OUTPUT/backends/cuda, all mutations in them, each chosen by
// planted(NUMBER); planted_faults.hpp there holds the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "harness/faults/catalogue.hpp"

namespace parity::faults {
namespace {

namespace fs = std::filesystem;

Result<std::string> text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) return bad_input(file.string() + " cannot be read");
  return std::move(text).str();
}

/// Leaves a file alone that holds the text already: what is made from it need not be made again.
Result<void> keep_text(const fs::path& file, const std::string& text) {
  if (fs::exists(file))
    if (const auto old = text_of(file); old && *old == text) return {};
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  return stream ? Result<void>{} : bad_input(file.string() + " cannot be written");
}

std::string stem(const std::string& file) {
  return file.substr(0, file.find('.'));
}

struct Paths {
  fs::path sources, output;
  std::vector<std::string> compiled;  ///< CUDA: the sources that are compiled with faults
};

Result<std::string> mutated(const fs::path& file, const std::vector<const Mutation*>& mutations, int number,
                            const std::string& fault) {
  auto source = text_of(file);
  for (const Mutation* mutation : mutations) {
    if (!source) return source;
    source = mutate(*source, *mutation, number, fault);
  }
  return source;
}

Result<void> make_shaders(const CatalogueFault& fault, const Paths& paths, std::string& list) {
  std::map<std::string, std::vector<const Mutation*>> by_file;
  std::string modules = " ";
  for (const Mutation& mutation : fault.mutations) {
    if (mutation.backend != "vulkan") continue;
    if (!fs::exists(paths.sources / mutation.file))
      return bad_input("fault '" + fault.name + "': there is no " + (paths.sources / mutation.file).string());
    if (by_file[mutation.file].empty()) {
      const std::vector<std::string> own{stem(mutation.file)};
      for (const std::string& module : mutation.modules.empty() ? own : mutation.modules)
        if (modules.find(" " + module + " ") == modules.npos) modules += module + " ";
    }
    by_file[mutation.file].push_back(&mutation);
  }
  if (by_file.empty()) return {};
  const fs::path folder = paths.output / fault.name;
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(paths.sources)) {
    const std::string file = entry.path().filename().string();
    const auto text = mutated(entry.path(), by_file[file], 0, fault.name);
    if (!text) return tl::unexpected(text.error());
    if (auto ok = keep_text(folder / file, *text); !ok) return ok;
  }
  list += fmt::format("{}{}\n", fault.name, modules);
  return {};
}

/// Each source includes the headers by their path from the project's folder: changed ones stand under the
/// same path in the output, which is searched first.
Result<void> write_kernels(const Paths& paths, std::map<std::string, std::string> files,
                           const std::string& numbers) {
  const fs::path folder = paths.output / "backends" / "cuda";
  fs::create_directories(folder);
  std::string declarations, calls;
  for (const std::string& source : paths.compiled) {
    auto original = text_of(paths.sources / source);
    if (!original) return tl::unexpected(original.error());
    std::string& text = files.try_emplace(source, *std::move(original)).first->second;
    const std::string name = stem(source);
    text += fmt::format(
        "\nnamespace parity::cuda {{\ncudaError_t plant_{}(int number) {{\n  return "
        "cudaMemcpyToSymbol(planted_number, &number, sizeof number);\n}}\n}}  // namespace parity::cuda\n",
        name);
    declarations += fmt::format("cudaError_t plant_{}(int number);\n", name);
    calls += fmt::format(
        "  if (const cudaError_t error = plant_{}(number); error != cudaSuccess) return error;\n", name);
  }
  for (const auto& [file, text] : files) {
    const bool compiled = std::ranges::find(paths.compiled, file) != paths.compiled.end();
    if (!compiled && file.ends_with(".cu"))
      return bad_input(fmt::format("{} has faults and is not among the files that are compiled", file));
    if (auto ok = keep_text(folder / file, "#include \"backends/cuda/faults/planted.cuh\"\n" + text); !ok)
      return ok;
  }
  return keep_text(
      folder / "planted_faults.hpp",
      fmt::format("// Made from cases/faults/; do not edit.\n#pragma once\n#include "
                  "<cuda_runtime_api.h>\n\nnamespace parity::cuda {{\n\nstruct PlantedFault {{\n  "
                  "const char* name;\n  int number;\n}};\ninline constexpr PlantedFault "
                  "planted_faults[] = {{\n{}}};\n\n{}\n/// Plants fault `number` in every kernel of "
                  "the current device; 0: none.\ninline cudaError_t plant(int number) {{\n{}  return "
                  "cudaSuccess;\n}}\n\n}}  // namespace parity::cuda\n",
                  numbers, declarations, calls));
}

Result<void> make_kernels(const std::vector<CatalogueFault>& catalogue, const Paths& paths) {
  std::map<std::string, std::string> files;
  std::string numbers;
  int number = 0;
  for (const CatalogueFault& fault : catalogue) {
    if (!fault.planted_in("cuda") || !fault.corruption.empty()) continue;
    ++number;
    for (const Mutation& mutation : fault.mutations) {
      if (mutation.backend != "cuda") continue;
      const auto original = text_of(paths.sources / mutation.file);
      if (!original) return tl::unexpected(original.error());
      // Once in the file as it is, and once in what earlier mutations made of it.
      if (auto alone = mutate(*original, mutation, number, fault.name); !alone)
        return tl::unexpected(alone.error());
      std::string& text = files.try_emplace(mutation.file, *original).first->second;
      auto changed = mutate(text, mutation, number, fault.name);
      if (!changed) return tl::unexpected(changed.error());
      text = *std::move(changed);
    }
    numbers += fmt::format("    {{\"{}\", {}}},\n", fault.name, number);
  }
  return write_kernels(paths, files, numbers);
}

Result<void> run(const std::vector<std::string>& words) {
  const bool cuda = !words.empty() && words[0] == "cuda";
  if (words.size() < 4 || (words[0] != "vulkan" && !cuda))
    return bad_input("usage: parity_mutate vulkan|cuda SOURCES OUTPUT CATALOGUE... [FILE.cu...]");
  Paths paths{words[1], words[2], {}};
  fs::create_directories(paths.output);
  std::vector<CatalogueFault> catalogue;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i].ends_with(".cu")) {
      paths.compiled.push_back(words[i]);
      continue;
    }
    const auto text = text_of(words[i]);
    if (!text) return tl::unexpected(text.error());
    auto part = parse_catalogue(*text, words[i]);
    if (!part) return tl::unexpected(part.error());
    for (CatalogueFault& fault : *part) catalogue.push_back(std::move(fault));
  }
  if (words[0] == "cuda") return make_kernels(catalogue, paths);
  std::string list;
  for (const CatalogueFault& fault : catalogue)
    if (auto ok = make_shaders(fault, paths, list); !ok) return ok;
  return keep_text(paths.output / "mutants.txt", list);
}

}  // namespace
}  // namespace parity::faults

int main(int argc, char** argv) {
  const auto done = parity::faults::run({argv + 1, argv + argc});
  if (done) return 0;
  std::fprintf(stderr, "parity_mutate: %s\n", done.error().message.c_str());
  return 1;
}
