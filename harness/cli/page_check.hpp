#pragma once
// Runs what a page of documentation tells its reader to run, and holds the page to what comes of it.
//
// The page is plain Markdown. In order, in one folder that is empty at first:
//   - a line that ends with `NAME`: and a block of any language but sh and text: a file of that name
//   - a block ```sh: commands, one a line (\ goes on); a command that ends with another exit code than 0 says
//     so in its comment, "# exit code 1: ..."
//   - a block ```text behind it: lines of the commands' output, in order. White space counts as one blank and
//     "..." stands for anything, on a line of its own for lines left out.
// An HTML comment before a block: <!-- not run: REASON --> leaves it alone, <!-- needs: COMMAND --> does so
// where that command fails. A ```text block behind a block that did not run is left alone with it.
#include <string>
#include <vector>

namespace parity {

struct PageCheck {
  int commands = 0;                   ///< that were run
  std::vector<std::string> problems;  ///< each begins with "PAGE:LINE: "
  std::vector<std::string> left_out;  ///< the same, with the reason
};

/// `text`: the Markdown; `name`: how problems call it. Commands run in `folder` with NAME=VALUE entries added
/// to the environment.
PageCheck check_page(const std::string& name, const std::string& text, const std::string& folder,
                     const std::vector<std::string>& environment);

}  // namespace parity
