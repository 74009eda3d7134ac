// What the units of peaks.cpp define; which of them exist depends on the architecture.
#pragma once

#include "bench/support/peaks.hpp"

namespace mla_prolog::bench {

extern const Peaks peaks_sse4_2;
extern const Peaks peaks_avx2;
extern const Peaks peaks_avx512;
extern const Peaks peaks_avx512_vnni;
extern const Peaks peaks_neon;
extern const Peaks peaks_neon_dotprod;

}  // namespace mla_prolog::bench
