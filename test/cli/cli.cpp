#include "test/cli/cli.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace mla_prolog::test {
namespace {

namespace fs = std::filesystem;

// The program, after the emulator of a cross build if there is one.
std::vector<std::string> command() {
  std::vector<std::string> words;
  std::istringstream launcher(MLA_PROLOG_CLI_LAUNCHER);
  for (std::string word; std::getline(launcher, word, ';');) {
    if (!word.empty()) words.push_back(word);
  }
  const char* const program = std::getenv("MLA_PROLOG_CLI");
  words.emplace_back(program != nullptr ? program : MLA_PROLOG_CLI_PROGRAM);
  return words;
}

}  // namespace

std::vector<std::string> CliResult::lines() const {
  std::vector<std::string> result;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

CliResult cli(const std::vector<std::string>& arguments) {
  const TempDir dir;
  const std::string out = dir / "out";
  const std::string err = dir / "err";
  std::vector<std::string> words = command();
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + words[0] + ": " + std::strerror(error));
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "mla_prolog_cli_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string TempDir::write(const std::string& name, const std::string& content) const {
  const fs::path file = path_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
  return file.string();
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool is_error_line(const CliResult& result, const std::string& text) {
  const bool one_line = !result.err.empty() && result.err.find('\n') == result.err.size() - 1;
  return one_line && result.err.rfind("ERROR ", 0) == 0 && result.err.find(text) != std::string::npos;
}

void write_tensors(const std::string& path, const std::vector<OwnedTensor>& tensors) {
  std::vector<tools::TensorToStore> stored;
  for (const OwnedTensor& tensor : tensors) stored.push_back({tensor.name, tensor.type, tensor.shape, tensor.data});
  tools::write_safetensors(path, stored);
}

std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t low = bits & 0xFFFF;
  std::uint32_t high = bits >> 16;
  if (low > 0x8000 || (low == 0x8000 && (high & 1) == 1)) ++high;
  return static_cast<std::uint16_t>(high);
}

float of_bf16(std::uint16_t code) { return std::bit_cast<float>(std::uint32_t{code} << 16); }

}  // namespace mla_prolog::test
