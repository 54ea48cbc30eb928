#include "harness/cli/page_check.hpp"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "harness/cli/program_run.hpp"

namespace parity {
namespace {

/// A line of the page; numbers begin with 1.
struct PageLine {
  int number = 0;
  std::string text;
};
using PageLines = std::vector<PageLine>;

/// White space as one blank, none at the ends.
std::string evened(const std::string& text) {
  std::istringstream words(text);
  std::string result, word;
  while (words >> word) result += (result.empty() ? "" : " ") + word;
  return result;
}

/// Whether `line` is `pattern`, in which "..." stands for anything.
bool fits(const std::string& pattern, const std::string& line) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at; (at = pattern.find("...", from)) != pattern.npos; from = at + 3)
    parts.push_back(evened(pattern.substr(from, at - from)));
  parts.push_back(evened(pattern.substr(from)));
  if (parts.size() == 1) return line == parts.front();
  if (!line.starts_with(parts.front())) return false;
  from = parts.front().size();
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = line.find(parts[i], from);
    if (at == line.npos) return false;
    from = at + parts[i].size();
  }
  return line.size() >= from + parts.back().size() && line.ends_with(parts.back());
}

/// Lines that end with a backslash and the next ones are one command.
PageLines commands_of(const PageLines& block) {
  PageLines commands;
  bool goes_on = false;
  for (const PageLine& line : block) {
    if (goes_on)
      commands.back().text += "\n" + line.text;
    else if (const std::string words = evened(line.text); !words.empty() && !words.starts_with('#'))
      commands.push_back(line);
    else
      continue;
    goes_on = line.text.ends_with('\\');
  }
  return commands;
}

int expected_code(const std::string& command) {
  static const std::regex words("# exit code ([0-9]+)");
  std::smatch match;
  return std::regex_search(command, match, words) ? std::stoi(match[1]) : 0;
}

/// What stands behind `key` in "<!-- key: ... -->"; empty for any other line.
std::string marked(const std::string& line, const std::string& key) {
  const std::string start = "<!-- " + key + ": ", end = " -->";
  if (!line.starts_with(start) || !line.ends_with(end)) return {};
  return line.substr(start.size(), line.size() - start.size() - end.size());
}

/// NAME where a line ends with `NAME`:
std::string file_named(const std::string& line) {
  static const std::regex words("`([A-Za-z0-9_.-]+)`:$");
  std::smatch match;
  return std::regex_search(line, match, words) ? match[1].str() : std::string();
}

class Checker {
 public:
  Checker(const std::string& name, const std::string& folder, const std::vector<std::string>& environment)
      : name_(name), folder_(folder) {
    options_.environment = environment;
  }

  PageCheck check(const std::string& text) {
    std::istringstream stream(text);
    PageLines block;
    std::string language, before;
    bool inside = false;
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      if (!inside && line.starts_with("```")) {
        inside = true;
        language = line.substr(3);
        block = {{number, line}};
      } else if (inside && line == "```") {
        inside = false;
        take(language, block.front().number, before, {block.begin() + 1, block.end()});
        before.clear();
      } else if (inside) {
        block.push_back({number, line});
      } else if (!line.empty()) {
        before = line;
      }
    }
    if (inside)
      problem(block.front().number, "this block has no end");
    else if (check_.commands == 0 && check_.left_out.empty())
      problem(1, "no command on this page");
    return std::move(check_);
  }

 private:
  void problem(int line, const std::string& what) {
    check_.problems.push_back(fmt::format("{}:{}: {}", name_, line, what));
  }

  void take(const std::string& language, int line, const std::string& before, const PageLines& block) {
    if (language == "text" && marked(before, "not run").empty()) {
      if (!ran_ && !left_alone_) problem(line, "output of which command? There is none before it");
      if (ran_) compare(block);
      return;
    }
    std::string reason = marked(before, "not run");
    if (const std::string need = marked(before, "needs"); !need.empty() && run(need).code != 0)
      reason = "needs " + need;
    ran_ = false;
    left_alone_ = !reason.empty();
    if (left_alone_) {
      check_.left_out.push_back(fmt::format("{}:{}: {}", name_, line, reason));
    } else if (language == "sh") {
      run_all(block);
    } else if (const std::string file = file_named(before); !file.empty()) {
      std::ofstream stream(folder_ + "/" + file);
      for (const PageLine& text : block) stream << text.text << "\n";
    } else {
      problem(line,
              "a block that nothing checks: name its file in the line before, or say why it is not run");
    }
  }

  ProgramRun run(const std::string& command) {
    return run_program("/bin/bash", {"-c", fmt::format("exec 2>&1; cd '{}' || exit; {}", folder_, command)},
                       options_);
  }

  void run_all(const PageLines& block) {
    output_.clear();
    next_ = 0;
    ran_ = true;
    for (const PageLine& command : commands_of(block)) {
      const ProgramRun result = run(command.text);
      ++check_.commands;
      std::istringstream lines(result.out);
      for (std::string line; std::getline(lines, line);) output_.push_back(evened(line));
      if (const int expected = expected_code(command.text); result.code != expected)
        problem(command.number, fmt::format("exit code {} where the page says {}: {}\n{}", result.code,
                                            expected, command.text, result.out));
    }
  }

  void compare(const PageLines& block) {
    bool shown = false;
    for (const PageLine& line : block) {
      if (evened(line.text).empty() || evened(line.text) == "...") continue;
      std::size_t at = next_;
      while (at < output_.size() && !fits(line.text, output_[at])) ++at;
      if (at < output_.size()) {
        next_ = at + 1;
        continue;
      }
      problem(line.number,
              fmt::format("not in the output{}: {}{}", next_ > 0 ? ", or not in this order" : "", line.text,
                          shown ? "" : fmt::format("\n{}", fmt::join(output_, "\n"))));
      shown = true;
    }
  }

  const std::string name_, folder_;
  ProgramOptions options_;
  PageCheck check_;
  std::vector<std::string> output_;  ///< of the last block of commands, evened
  std::size_t next_ = 0;             ///< behind the last line of it that the page quotes
  bool ran_ = false, left_alone_ = false;
};

}  // namespace

PageCheck check_page(const std::string& name, const std::string& text, const std::string& folder,
                     const std::vector<std::string>& environment) {
  return Checker(name, folder, environment).check(text);
}

}  // namespace parity
