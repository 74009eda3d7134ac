// Time and the statistics of times.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace mla_prolog::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Body>
double seconds_of(Body&& body) {
  const double start = now();
  body();
  return now() - start;
}

// 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace mla_prolog::bench
