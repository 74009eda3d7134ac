// Help, versions, usage errors and info: what every command does alike.
#include "mla_prolog/system.hpp"
#include "test/catch.hpp"
#include "test/cli/cli.hpp"

using namespace mla_prolog::test;

TEST_CASE("help and version work everywhere") {
  const std::string version = std::string("mla-prolog ") + mla_prolog::version() + "\n";
  for (const std::string command : {"", "run", "verify", "check", "convert", "explain", "info"}) {
    std::vector<std::string> arguments;
    if (!command.empty()) arguments.push_back(command);
    arguments.emplace_back("--help");
    const CliResult help = cli(arguments);
    INFO(command);
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK(help.out.find("--help") != std::string::npos);
    arguments.back() = "--version";
    const CliResult result = cli(arguments);
    CHECK(result.code == 0);
    CHECK(result.out == version);
  }
}

TEST_CASE("wrong usage is one ERROR line and exit 2") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{}, "subcommand"},
      {{"frobnicate"}, "frobnicate: is no command"},
      {{"run", "--frobnicate"}, "--frobnicate"},
      {{"run", "extra"}, "extra"},
      {{"verify"}, "cases is required"},
      {{"check"}, "cases is required"},
      {{"check", "a", "b"}, "usage"},
      {{"run", "--threads", "0"}, "--threads"},
      {{"run", "--threads", "-3"}, "--threads"},
      {{"run", "--threads", "two"}, "--threads"},
      {{"run", "--threads"}, "--threads"},
      {{"run", "--threads", "99999999999999999999"}, "--threads"},
      {{"verify", "x.json", "--threads", "0"}, "--threads"},
      {{"run", "--tokens", "-1"}, "--tokens"},
      {{"run", "--he", "0"}, "--he"},
      {{"run", "--hcq", "100"}, "--hcq: q-lora rank 100 must be a multiple of 64"},
      {{"run", "--tokens", "9999999999999"}, "--tokens"},
      {{"run", "--batch", "4294967296", "--seq", "4294967296"}, "--batch"},
      {{"run", "--batch", "2147483648", "--seq", "2147483648"}, "memory"},
      {{"run", "--seed", "-1"}, "--seed"},
      {{"run", "--eps-cq", "1e400"}, "--eps-cq"},
      {{"run", "--layer", "3"}, "--layer: needs --checkpoint"},
      {{"run", "--isa", "avx9"}, "--isa avx9: is unknown; there is: auto scalar"},
      {{"run", "--isa", "AVX2"}, "is unknown"},
      {{"verify", "x.json", "--isa", "avx9"}, "--isa avx9: is unknown"},
      {{"run", "--backend", "gpu"}, "--backend gpu: is unknown; there is: auto reference"},
      {{"verify", "x.json", "--backend", "gpu"}, "--backend gpu: is unknown"},
      {{"run", "--profile", "a9"}, "--profile a9: is unknown; there is: auto a2 950"},
      {{"run", "--numerics", "sloppy"}, "--numerics sloppy: is unknown; there is: strict fast"},
      {{"run", "--model", "gpt"}, "--model gpt: is unknown; there is: deepseek-v3"},
      {{"run", "--quant", "w0kv1"}, "--quant w0kv1: is unknown; there is: w0kv0"},
      {{"run", "--cache-mode", "BNSD"}, "--cache-mode BNSD: is unknown; there is: PA_BSND"},
      {{"run", "--output", "x"}, "--output: holds one scenario"},
      {{"run", "--save-inputs", "x"}, "--save-inputs: holds one scenario"},
      {{"run", "--tokens", "4", "--batch", "2", "--seq", "2"}, "--tokens: conflicts"},
      {{"run", "--batch", "2"}, "--batch and --seq belong together"},
      {{"run", "--tp", "3"}, "--tp 3: does not divide 128 heads"},
      {{"run", "--sublayer", "1"}, "--sublayer: needs --checkpoint"},
      {{"run", "--quant", "w0kv0", "--smooth"}, "--smooth: scenario w0kv0 takes no smooth_scales_cq"},
      {{"run", "--quant", "w3kv0", "--smooth"}, "takes no smooth_scales_cq"},
      {{"run", "--quant", "w4kv0", "--profile", "a2"}, "--profile a2: has no weight mode 4"},
      {{"run", "--profile", "a2"}, "choose a scenario with --quant"},
      {{"run", "--quant", "w1kv3", "--cache-mode", "PA_NZ"}, "cache_mode"},
      {{"run", "--quant", "w0kv0", "--he", "33"}, "scenario w0kv0"},
      {{"run", "--quant", "w0kv0", "--tokens", "2000000000"}, "memory"},
      {{"run", "--input", "absent.safetensors"}, "absent.safetensors: cannot open"},
      {{"run", "--checkpoint", "absent"}, "absent: cannot open"},
      {{"run", "--checkpoint", "x", "--model", "kimi-k2"}, "--model: conflicts with --checkpoint"},
  };
  for (const auto& [arguments, cause] : wrong) {
    const CliResult result = cli(arguments);
    INFO(cause << " gives " << result.code << ' ' << result.err);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, cause));
    CHECK(result.out.empty());
  }
}

TEST_CASE("more threads than are supported become the most that are, with one note") {
  const std::vector<std::string> small{"--he", "64",      "--hcq", "128",      "--heads", "1",     "--nope-dim",
                                       "32",   "--quant", "w0kv0", "--tokens", "1",       "--json"};
  for (const std::string command : {"explain", "run", "compare"}) {
    for (const std::string threads : {"1025", "2147483647"}) {
      std::vector<std::string> arguments{command, "--threads", threads};
      arguments.insert(arguments.end(), small.begin(), small.end());
      if (command == "run") arguments.insert(arguments.end(), {"--repeat", "1"});
      if (command == "compare") arguments.insert(arguments.end(), {"--backends", "reference,cpu"});
      const CliResult result = cli(arguments);
      INFO(command << ' ' << result.err);
      CHECK(result.code == 0);
      CHECK(result.err == "note: --threads " + threads + ": runs with 1024, the most\n");
      if (command != "compare") CHECK(result.json()["scenarios"][0]["threads"] == 1024);
    }
  }
}

TEST_CASE("an instruction set that exists but not here is refused by name") {
  int refused = 0;
  for (const mla_prolog::IsaInfo& info : mla_prolog::list_isas()) {
    if (info.available) continue;
    ++refused;
    const std::string name(to_string(info.isa));
    const CliResult result = cli({"run", "--isa", name});
    CHECK(result.code == 2);
    CHECK(is_error_line(result, "--isa " + name + ": is not available here"));
    CHECK(is_error_line(result, "; there is: auto scalar"));
  }
  CHECK(refused > 0);  // no machine has both x86 and Arm sets
}

TEST_CASE("info tells version, processor, sets, backends and threads") {
  const CliResult text = cli({"info"});
  CHECK(text.code == 0);
  for (const std::string part :
       {"mla-prolog ", "cpu: ", "huge pages: ", "chosen isa: ", "threads: ", "affinity: ", "backends:"}) {
    CHECK(text.out.find(part) != std::string::npos);
  }
  const auto document = cli({"info", "--json"}).json();
  CHECK(document["version"] == mla_prolog::version());
  CHECK(document["isas"].size() == mla_prolog::list_isas().size());
  CHECK(document["backends"].size() == mla_prolog::list_backends().size());
  CHECK(document["threads"].get<int>() >= 1);
}
