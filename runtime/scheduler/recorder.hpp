// Where a run notes when each thread began and ended each tile. Sized beforehand, so that noting allocates nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/scheduler/schedule.hpp"

namespace mla_prolog {

class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  struct Event {
    Stage stage = Stage::project;
    std::int64_t block = 0;
    Tile tile;  // tokens count from the block's first
    Clock::time_point begin;
    Clock::time_point end;
  };

  // One thread's events; lanes lie apart so that threads do not write to each other's cache lines.
  struct alignas(64) Lane {
    std::vector<Event> events;  // its size is the room
    std::size_t count = 0;

    void note(const Event& event) noexcept {
      if (count < events.size()) events[count++] = event;
    }
  };

  explicit Recorder(const Schedule& schedule) : lanes_(static_cast<std::size_t>(schedule.threads)) {
    // A share of a stage has at most three tiles for each unit of k. A team that turns out smaller has all blocks.
    std::int64_t room = 0;
    for_each_stage(schedule, [&](Stage stage) { room += 3 * schedule.grid(stage, 1).k_units(); });
    for (Lane& lane : lanes_) lane.events.resize(static_cast<std::size_t>(room * schedule.blocks));
  }

  void start() noexcept {
    for (Lane& lane : lanes_) lane.count = 0;
    begin_ = Clock::now();
  }
  Lane& lane(int thread) noexcept { return lanes_[static_cast<std::size_t>(thread)]; }
  const std::vector<Lane>& lanes() const noexcept { return lanes_; }
  double seconds(Clock::time_point t) const { return std::chrono::duration<double>(t - begin_).count(); }

 private:
  std::vector<Lane> lanes_;
  Clock::time_point begin_{};
};

}  // namespace mla_prolog
