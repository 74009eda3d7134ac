// Every kind of misuse is found, at every check level; its correct twin stays silent.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "test/catch.hpp"

namespace {

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;
  int status = 0;  ///< what the program says the call returned
  std::string out;
  std::string err;
};

std::string drain(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return text;
}

/// Runs the program; its output is small enough for a pipe.
Outcome run(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  REQUIRE(pipe(out.data()) == 0);
  REQUIRE(pipe(err.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const int fd : {out[0], out[1], err[0], err[1]}) ::close(fd);
    for (const char* name : {"MLA_PROLOG_CHECK", "MLA_PROLOG_CHECK_EXIT", "MLA_PROLOG_VERBOSE"}) unsetenv(name);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>(MLA_PROLOG_MISUSE_PROGRAM)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  Outcome outcome;
  outcome.out = drain(out[0]);
  outcome.err = drain(err[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  const std::size_t at = outcome.out.find("status=");
  if (at != std::string::npos) outcome.status = std::atoi(outcome.out.c_str() + at + 7);
  return outcome;
}

std::vector<std::pair<std::string, std::string>> misuses() {
  std::vector<std::pair<std::string, std::string>> list;
  const std::string text = run({"--list"}, {}).out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t space = text.find(' ', begin);
    const std::size_t end = text.find('\n', space);
    list.emplace_back(text.substr(begin, space - begin), text.substr(space + 1, end - space - 1));
    begin = end + 1;
  }
  return list;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("misuse is reported in one line, and sets the exit status") {
  const auto list = misuses();
  REQUIRE(list.size() > 30);
  for (const auto& [name, finding] : list) {
    INFO(name);
    const Outcome outcome = run({name, "wrong"}, {{"MLA_PROLOG_CHECK_EXIT", "7"}});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 7);
    CHECK(count(outcome.err, "mla_prolog: finding [" + finding + "]") == 1);
    CHECK(count(outcome.err, "mla_prolog: finding [") == 1);
    CHECK(count(outcome.err, "check report: 1 finding\n") == 1);
  }
}

TEST_CASE("correct use is silent") {
  for (const auto& [name, finding] : misuses()) {
    INFO(name);
    const Outcome outcome = run({name, "right"}, {{"MLA_PROLOG_CHECK_EXIT", "7"}});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("findings are errors when asked for") {
  for (const auto& [name, finding] : misuses()) {
    if (name == "dereference") continue;                                // no call that could fail
    if (finding == "leak" || finding == "guard-overwritten") continue;  // seen later, by aclFinalize or aclrtFree
    INFO(name);
    const Outcome outcome = run({name, "wrong"}, {{"MLA_PROLOG_CHECK", "error"}});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.status >= ACL_ERROR_INVALID_PARAM);
    CHECK(count(outcome.err, "mla_prolog: finding [" + finding + "]") >= 1);
  }
}

TEST_CASE("the first finding ends the program when asked for") {
  for (const auto& [name, finding] : misuses()) {
    INFO(name);
    const Outcome outcome = run({name, "wrong"}, {{"MLA_PROLOG_CHECK", "abort"}});
    CHECK(outcome.signal == SIGABRT);
    CHECK(count(outcome.err, "mla_prolog: finding [" + finding + "]") == 1);
  }
}

TEST_CASE("switched off, the checker says nothing and nothing crashes") {
  for (const auto& [name, finding] : misuses()) {
    INFO(name);
    if (name == "dereference") continue;
    const Outcome outcome = run({name, "wrong"}, {{"MLA_PROLOG_CHECK", "off"}, {"MLA_PROLOG_CHECK_EXIT", "7"}});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("what overlaps is computed as though it lay apart, checked or not") {
  std::size_t overlaps = 0;
  for (const auto& [name, finding] : misuses()) {
    if (finding != "output-overlap") continue;
    ++overlaps;
    for (const char* level : {"off", "warn"}) {
      INFO(name << ", " << level);
      const Outcome outcome = run({name, "wrong"}, {{"MLA_PROLOG_CHECK", level}});
      INFO(outcome.err);
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.status == 0);
    }
  }
  CHECK(overlaps == 7);
}

TEST_CASE("host code that dereferences a device address ends as it does with a device") {
  for (const char* level : {"off", "warn"}) {
    const Outcome outcome = run({"dereference", "wrong"}, {{"MLA_PROLOG_CHECK", level}});
    CHECK(outcome.signal == SIGSEGV);
  }
}

TEST_CASE("work that is queued when the program ends counts, too") {
  const Outcome outcome = run({"end_with_work_queued"}, {{"MLA_PROLOG_CHECK_EXIT", "9"}});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 9);
  CHECK(count(outcome.err, "mla_prolog: finding [bad-index]") == 1);
}

TEST_CASE("an exit status that would become another is not taken") {
  const Outcome outcome = run({"double_free", "wrong"}, {{"MLA_PROLOG_CHECK_EXIT", "256"}});
  CHECK(outcome.exit_code == 0);
  CHECK(count(outcome.err, "warning: MLA_PROLOG_CHECK_EXIT=256 is not understood (a number up to 255)") == 1);
}

TEST_CASE("a finding names the call, the argument, and where the memory was allocated") {
  const Outcome outcome = run({"copy_past_end", "wrong"}, {});
  CHECK(count(outcome.err, "aclrtMemcpy: dst needs 64 bytes, there are 32") == 1);
  CHECK(count(outcome.err, "32 bytes into 64 bytes of device memory allocated at misuse+0x") == 1);
  CHECK(count(outcome.err, "called from misuse+0x") == 1);
}
