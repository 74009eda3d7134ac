#include "bench/operator/serve.hpp"

#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "bench/support/subject.hpp"

namespace mla_prolog::bench {
namespace {

class Server {
 public:
  explicit Server(const Dims& dims) : dims_(dims) {}

  double answer(const std::string& request) {
    std::istringstream words(request);
    std::string scenario;
    std::string isa;
    std::int64_t tokens = 0;
    int threads = 0;
    if (!(words >> scenario >> tokens >> isa >> threads) || tokens < 1) {
      throw std::invalid_argument("not SCENARIO TOKENS ISA THREADS: " + request);
    }
    // numerics fast with the engines chosen then; strict is native.
    std::string numerics = "strict";
    words >> numerics;
    const bool fast = numerics == "fast";
    if (!fast && numerics != "strict") throw std::invalid_argument("not strict or fast: " + numerics);
    if (scenario != scenario_) {
      subjects_.clear();
      weights_.reset();
      weights_ = std::make_unique<ColdWeights>(problem_of(scenario, 1, dims_));
      scenario_ = scenario;
    }
    std::unique_ptr<Subject>& subject = subjects_[request];
    if (subject == nullptr) {
      const auto set = parse<Isa>(isa);
      if (!set) throw std::invalid_argument("no instruction set " + isa);
      PlanOptions options{.backend = Backend::cpu, .isa = *set, .threads = threads};
      if (fast) {
        options.backend = Backend::automatic;
        options.numerics = Numerics::fast;
      }
      subject = std::make_unique<Subject>(problem_of(scenario, tokens, dims_), options, *weights_);
    }
    return subject->run();
  }

 private:
  Dims dims_;
  std::string scenario_;
  std::unique_ptr<ColdWeights> weights_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;
};

}  // namespace

int serve(std::istream& requests, std::ostream& answers, const Dims& dims) {
  Server server(dims);
  answers << std::setprecision(9);
  for (std::string line; std::getline(requests, line);) {
    try {
      answers << server.answer(line) << std::endl;
    } catch (const std::exception& error) {
      answers << "ERROR " << error.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace mla_prolog::bench
