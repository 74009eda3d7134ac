// Vector clocks over streams: who is known to have finished what.
//
// Work on a stream is numbered 1, 2, ... A clock says for every stream up to which number its work is ordered before
// the clock's owner. All clocks are computed where work is enqueued, so what they say does not depend on how fast the
// workers are, and a race is found in every run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mla_prolog::cann {

class Clock {
 public:
  std::uint64_t at(std::uint32_t stream) const { return stream < seen_.size() ? seen_[stream] : 0; }

  void raise(std::uint32_t stream, std::uint64_t number) {
    if (stream >= seen_.size()) seen_.resize(stream + 1);
    seen_[stream] = std::max(seen_[stream], number);
  }

  void join(const Clock& other) {
    if (other.seen_.size() > seen_.size()) seen_.resize(other.seen_.size());
    for (std::size_t i = 0; i < other.seen_.size(); ++i) seen_[i] = std::max(seen_[i], other.seen_[i]);
  }

 private:
  std::vector<std::uint64_t> seen_;
};

}  // namespace mla_prolog::cann
