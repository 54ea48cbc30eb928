#include "harness/cli/browser.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace parity {
namespace {

using nlohmann::json;

/// A browser that says nothing for so long is not going to.
constexpr int patience_ms = 60'000;

[[noreturn]] void become_browser(const std::string& program, const std::string& profile, int in, int out) {
  ::setpgid(0, 0);
  // The protocol's pipes are descriptors 3 and 4; copies further up keep them from covering each other.
  const int read_end = ::fcntl(in, F_DUPFD, 10), write_end = ::fcntl(out, F_DUPFD, 10);
  const int silence = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) ::dup2(silence, standard);
  ::dup2(read_end, 3);
  ::dup2(write_end, 4);
  ::closefrom(5);
  const std::string data = "--user-data-dir=" + profile;
  // It opens nothing but a page of ours, and containers rarely allow its sandbox.
  ::execl(program.c_str(), program.c_str(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
          "--disable-background-networking", "--disable-extensions", "--disable-component-update",
          "--disable-dev-shm-usage", "--remote-debugging-pipe", data.c_str(), "about:blank", nullptr);
  ::_exit(127);
}

}  // namespace

std::string Browser::find() {
  if (const char* chosen = std::getenv("PARITY_BROWSER")) return chosen;
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}) {
    std::istringstream directories(path == nullptr ? "" : path);
    for (std::string directory; std::getline(directories, directory, ':');)
      if (const std::string file = directory + "/" + name; ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

std::unique_ptr<Browser> Browser::start(const std::string& program, std::string& why) {
  auto browser = std::unique_ptr<Browser>(new Browser);
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) {
    why = "no pipes";
    return nullptr;
  }
  ::signal(SIGPIPE, SIG_IGN);
  browser->process_ = ::fork();
  if (browser->process_ == 0) become_browser(program, browser->profile_.path().string(), to[0], from[1]);
  ::close(to[0]);
  ::close(from[1]);
  browser->to_ = to[1];
  browser->from_ = from[0];
  const json page = browser->command("Target.createTarget", {{"url", "about:blank"}});
  if (!page.contains("targetId")) {
    why = program + " does not answer";
    return nullptr;
  }
  const json attached =
      browser->command("Target.attachToTarget", {{"targetId", page["targetId"]}, {"flatten", true}});
  browser->session_ = attached.value("sessionId", "");
  for (const char* domain : {"Network.enable", "Page.enable", "Runtime.enable", "Log.enable"})
    browser->command(domain);
  return browser;
}

Browser::~Browser() {
  if (to_ >= 0) ::close(to_);  // its end of the pipe gone, it ends by itself
  if (from_ >= 0) ::close(from_);
  if (process_ <= 0) return;
  for (int tries = 0; tries < 100; ++tries) {
    if (::waitpid(process_, nullptr, WNOHANG) != 0) return;
    ::usleep(20'000);
  }
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

json Browser::read_message() {
  for (std::size_t end; (end = received_.find('\0')) == std::string::npos;) {
    pollfd ready{from_, POLLIN, 0};
    char bytes[65536];
    const ssize_t count = ::poll(&ready, 1, patience_ms) > 0 ? ::read(from_, bytes, sizeof bytes) : 0;
    if (count <= 0) return {};
    received_.append(bytes, static_cast<std::size_t>(count));
  }
  const std::size_t end = received_.find('\0');
  json message = json::parse(received_.substr(0, end), nullptr, false);
  received_.erase(0, end + 1);
  return message;
}

void Browser::note(const json& message) {
  const std::string method = message.value("method", "");
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Network.requestWillBeSent")
    requests_.push_back(message["params"]["request"].value("url", ""));
  if (method == "Runtime.exceptionThrown") complaints_.push_back(message["params"].dump());
  if (method == "Log.entryAdded") complaints_.push_back(message["params"]["entry"].value("text", ""));
}

json Browser::command(const std::string& method, json parameters) {
  json request = {{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) request["sessionId"] = session_;
  const std::string text = request.dump();
  for (std::size_t at = 0; at <= text.size();) {
    const ssize_t written = ::write(to_, text.c_str() + at, text.size() + 1 - at);
    if (written <= 0) return {};
    at += static_cast<std::size_t>(written);
  }
  for (;;) {
    json message = read_message();
    if (message.is_null() || message.is_discarded()) return {};
    if (message.value("id", 0) != last_id_) {
      note(message);
      continue;
    }
    if (message.contains("error")) complaints_.push_back(method + ": " + message["error"].dump());
    return message.value("result", json());
  }
}

void Browser::open(const std::string& address) {
  loaded_ = false;
  // An address that differs in its fragment only would load nothing.
  command("Page.navigate", {{"url", "about:blank"}});
  while (!loaded_) {
    const json message = read_message();
    if (message.is_null()) return;
    note(message);
  }
  loaded_ = false;
  requests_.clear();
  command("Page.navigate", {{"url", address}});
  while (!loaded_) {
    const json message = read_message();
    if (message.is_null()) return;
    note(message);
  }
}

json Browser::evaluate(const std::string& expression) {
  const json result = command(
      "Runtime.evaluate",
      {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}, {"userGesture", true}});
  if (result.is_null()) return {};
  if (result.contains("exceptionDetails"))
    complaints_.push_back(expression + ": " + result["exceptionDetails"].dump());
  return result.value("result", json::object()).value("value", json());
}

void Browser::resize(int width, int height) {
  command("Emulation.setDeviceMetricsOverride",
          {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

}  // namespace parity
