// One kind of misuse of the CANN interface, or its correct twin: `misuse NAME wrong|right`. Prints the status of the
// call in question; `misuse --list` prints every name with the finding it must cause. C++11 against the emulated tree.
#include "test/cann/misuse.hpp"

#include <cstdio>
#include <string>

namespace misuse {

aclrtStream stream = nullptr;

namespace {

std::vector<Misuse> all() {
  std::vector<Misuse> list = of_memory();
  for (const std::vector<Misuse>& more : {of_operators(), of_handles()}) {
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

int run(const Misuse& misuse, bool wrong) {
  const bool initialise = misuse.run != nullptr || !wrong;
  if (initialise) aclInit(nullptr);
  int status = aclrtSetDevice(0);
  if (misuse.run != nullptr) {
    aclrtCreateStream(&stream);
    status = misuse.run(wrong);
    aclrtDestroyStream(stream);
  }
  if (initialise || status == 0) aclrtResetDevice(0);
  if (initialise) aclFinalize();
  return status;
}

}  // namespace

int main(const std::string& name, const std::string& kind) {
  if (name == "--list") {
    for (const Misuse& misuse : all()) std::printf("%s %s\n", misuse.name, misuse.finding);
    return 0;
  }
  if (name == "end_with_work_queued") {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    end_with_work_queued();
    return 0;
  }
  for (const Misuse& misuse : all()) {
    if (misuse.name != name || (kind != "wrong" && kind != "right")) continue;
    std::printf("status=%d\n", run(misuse, kind == "wrong"));
    return 0;
  }
  std::fprintf(stderr, "usage: misuse --list | misuse NAME wrong|right\n");
  return 2;
}

}  // namespace misuse

int main(int argc, char** argv) { return misuse::main(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); }
