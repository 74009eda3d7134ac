// Runs the files of a corpus through a fuzzer's entry function, with any compiler and without the fuzzer.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "test/fuzz/entry.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    std::cerr << "no corpus\n";
    return 1;
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    std::cout << path.filename().string() << std::endl;  // the last line names the file that ends the process
    std::ifstream stream(path, std::ios::binary);
    std::vector<char> content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    // Every prefix too: files are cut off in the middle more often than they are wrong in one byte.
    const std::size_t step = std::max<std::size_t>(1, content.size() / 512);
    for (std::size_t size = 0; size <= content.size(); size += step) {
      const std::vector<std::uint8_t> exact(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(size));
      LLVMFuzzerTestOneInput(exact.data(), exact.size());
    }
    const std::vector<std::uint8_t> whole(content.begin(), content.end());
    LLVMFuzzerTestOneInput(whole.data(), whole.size());
  }
  std::cout << files.size() << " files\n";
  return 0;
}
