// Brings weights into the second-level cache before they are multiplied, over the words of one instruction set.
#pragma once

#include "kernels/gemm/gemm_kernels.hpp"

namespace mla_prolog::kernels {
namespace {

// Rows of a float tile between two steps of its fetcher; k is a multiple of this.
constexpr std::int64_t kFetchRows = 16;

// Brings what later calls read into the second-level cache, a few lines at a time, evenly over the rows that are
// multiplied meanwhile: in bursts, the lines under way would fill the core's buffers and its loads wait. Where it can,
// it reads several streams side by side, which memory answers faster than one.
class Fetcher {
 public:
  // `steps`: how often step() will be called.
  Fetcher(const GemmPrefetch& what, std::int64_t steps) : at_(what.data) {
    if (what.data == nullptr) return;
    const std::int64_t width = what.panels * kPanelBytes;
    if (what.row_stride == kPanelBytes) {  // each panel's rows lie one after another
      const std::int64_t lines = lines_of(what.rows * kPanelBytes);
      if (what.panels > 1) {
        read(what.panels, what.panel_stride, lines, kLine);
      } else {
        read_contiguous(lines);
      }
    } else if (what.row_stride == width) {
      read_contiguous(lines_of(what.rows * width));
    } else {  // each row's panels lie side by side
      read(lines_of(width), kLine, what.rows, what.row_stride);
    }
    rate_ = steps > 0 ? ((left_ << kFraction) + steps - 1) / steps : 0;
  }

  void step() {
    credit_ += rate_;
    std::int64_t now = credit_ >> kFraction;
    credit_ -= now << kFraction;
    now = now < left_ ? now : left_;
    left_ -= now;
    for (; now > 0; --now) {
      VectorSet::prefetch_l2(at_);
      at_ += stride_;
      if (--round_left_ == 0) {
        round_left_ = round_;
        at_ += jump_;
      }
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kStreams = 8;
  static constexpr int kFraction = 16;

  static constexpr std::int64_t lines_of(std::int64_t bytes) { return (bytes + kLine - 1) / kLine; }

  // `rounds` rounds of `round` lines each.
  void read(std::int64_t round, std::ptrdiff_t stride, std::int64_t rounds, std::ptrdiff_t round_stride) {
    round_ = round_left_ = round;
    stride_ = stride;
    jump_ = round_stride - round * stride;
    left_ = round * rounds;
  }
  void read_contiguous(std::int64_t lines) {
    const std::int64_t streams = lines % kStreams == 0 ? kStreams : 1;
    read(streams, lines / streams * kLine, lines / streams, kLine);
  }

  const std::uint8_t* at_;
  std::int64_t left_ = 0, round_ = 0, round_left_ = 0;
  std::ptrdiff_t stride_ = 0, jump_ = 0;
  std::int64_t rate_ = 0;
  std::int64_t credit_ = 0;
};

}  // namespace
}  // namespace mla_prolog::kernels
