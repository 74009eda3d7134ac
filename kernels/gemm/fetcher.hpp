// Brings weights into the second-level cache before they are multiplied, over the words of one instruction set.
#pragma once

#include "kernels/gemm/gemm_kernels.hpp"

namespace mla_prolog::kernels {
namespace {

// Rows of a tile between two steps of its fetcher; k is a multiple of this.
constexpr std::int64_t kFetchRows = 16;

// Brings what later calls read into the second-level cache, in memory's order and a few lines at a time, evenly over
// the rows that are multiplied meanwhile: in bursts, the lines under way would fill the core's buffers and its loads
// wait.
class Fetcher {
 public:
  // `steps`: how often step() will be called.
  Fetcher(const GemmPrefetch& what, std::int64_t steps) {
    const bool by_rows = what.row_stride != kPanelBytes;  // each row's panels lie side by side, or each panel's rows
    lines_per_piece_ = ((by_rows ? what.panels : what.rows) * kPanelBytes + kLine - 1) / kLine;
    left_ = what.data == nullptr ? 0 : (by_rows ? what.rows : what.panels) * lines_per_piece_;
    at_ = what.data;
    piece_left_ = lines_per_piece_;
    jump_ = (by_rows ? what.row_stride : what.panel_stride) - lines_per_piece_ * kLine;
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
      at_ += kLine;
      if (--piece_left_ == 0) {
        piece_left_ = lines_per_piece_;
        at_ += jump_;
      }
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr int kFraction = 16;

  const std::uint8_t* at_;
  std::int64_t left_, lines_per_piece_, piece_left_;
  std::ptrdiff_t jump_;
  std::int64_t rate_;
  std::int64_t credit_ = 0;
};

}  // namespace
}  // namespace mla_prolog::kernels
