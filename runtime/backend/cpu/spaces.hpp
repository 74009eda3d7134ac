// The workspace of a call: what a crew shares and what each thread has for itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend/arena.hpp"
#include "runtime/backend/cpu/matmul.hpp"
#include "runtime/backend/cpu/rows.hpp"
#include "runtime/problem/layer.hpp"
#include "runtime/scheduler/schedule.hpp"

namespace mla_prolog::cpu {

// The matmuls of a schedule.
struct Matmuls {
  MatmulPlan project;
  MatmulPlan query;
  MatmulPlan absorb;
  std::int64_t absorb_columns;  // of weight_uk at a time, so that results stay in cache

  Matmuls(const Layer& layer, const kernels::GemmKernels& kernels, const Schedule& schedule);
};

// What a crew shares while it works on a block of tokens. "[tokens]": of the largest block.
struct CrewSpace {
  float* m;  // results of weight_dq and weight_dkv_kr, float32 or int32 [planes][tokens][Hcq + 576]
  CompressedQuery cq;
  std::byte* x_left;   // packed token_x, where shared
  std::byte* cq_left;  // packed c^Q, where shared
  // Where heads are split:
  float* query;                 // results of weight_uq_qr, float32 or int32 [tokens][N * (D + 64)]
  kernels::bf16_t* qc;          // [N][tokens][D]
  kernels::bf16_t* qn_rounded;  // [N][tokens][512], per-tensor caches
};

struct ThreadSpace {
  std::byte* left;              // packed left operand of stage A (a span) or C, where not shared
  void* scratch;                // of the matmul kernels
  float* head;                  // results of one head's columns
  kernels::bf16_t* qc;          // q^C of one head [tokens][D]
  std::byte* qc_left;           // the same as left operand
  float* qn;                    // results of weight_uk
  kernels::bf16_t* qn_rounded;  // [tokens][512], per-tensor caches
  RowScratch rows;
};

// Columns of a row of CrewSpace::m.
constexpr std::int64_t projected_columns(const Layer& layer) { return layer.hcq + kDkvColumns; }

CrewSpace carve_crew(Arena& arena, const Layer& layer, const Schedule& schedule, const Matmuls& matmuls);
ThreadSpace carve_thread(Arena& arena, const Layer& layer, const Schedule& schedule, const Matmuls& matmuls);

}  // namespace mla_prolog::cpu
