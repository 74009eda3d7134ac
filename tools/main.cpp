// mla-prolog: runs, verifies and inspects the MLA prolog from the command line.
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <vector>

#include "mla_prolog/system.hpp"
#include "tools/commands/command.hpp"

namespace {

using namespace mla_prolog::tools;

std::string version_text() { return std::string("mla-prolog ") + mla_prolog::version(); }

int execute(int argc, char** argv) {
  CLI::App program("The MLA prolog of DeepSeek-style attention on CPUs, to the bit as the NPU computes it",
                   "mla-prolog");
  program.set_version_flag("--version", version_text());
  program.require_subcommand(1);
  const std::vector<Command> commands{add_run(program),     add_verify(program),  add_check(program),
                                      add_compare(program), add_convert(program), add_explain(program),
                                      add_info(program),    add_repro(program)};
  for (const Command& command : commands) command.app->set_version_flag("--version", version_text());

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return program.exit(request);
  } catch (const CLI::ParseError& error) {
    const std::string first = argc > 1 ? argv[1] : "-";
    const bool known = std::ranges::any_of(commands, [&](const Command& c) { return c.app->get_name() == first; });
    if (!first.starts_with('-') && !known) {
      print_error(one_line("usage: " + first + ": is no command (see --help)"));
      return kExitUnreadable;
    }
    print_error(one_line(std::string("usage: ") + error.what()) + " (see --help)");
    return kExitUnreadable;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const int code = command.execute();
    std::cout.flush();
    if (!std::cout) {
      print_error("standard output: cannot write");
      return kExitUnreadable;
    }
    return code;
  }
  return kExitUnreadable;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return execute(argc, argv);
  } catch (const UsageError& error) {
    print_error(error.what());
  } catch (const InputError& error) {
    print_error(error.what());
  } catch (const std::bad_alloc&) {
    print_error("memory: needs more than there is");
  } catch (const std::exception& error) {
    print_error(one_line(std::string("internal: ") + error.what()));
  }
  return kExitUnreadable;
}
