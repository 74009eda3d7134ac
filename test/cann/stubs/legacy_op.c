/* An operator library with the interface before 8.5.0.alpha003: one more parameter, a tensor wanted for every optional
 * output. Passes the call on to the current one. STUB_PHASE_TWO_STATUS in the environment makes phase two fail,
 * STUB_EPSILON replaces the epsilon of c^Q: a device that computes something else. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef const void* T;
typedef int32_t (*current_fn)(T, T, T, T, T, T, T, T, T, void*, void*, T, T, T, T, T, T, T, T, T, T, double, double,
                              char*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, T, T, T, T,
                              T, uint64_t*, void**);
typedef int32_t (*phase_two_fn)(void*, uint64_t, void*, void*);

static void* current(const char* name) {
  void* handle = dlopen(MLA_PROLOG_ASCEND_LIB64 "/libopapi_transformer.so", RTLD_NOW | RTLD_LOCAL);
  return handle == NULL ? NULL : dlsym(handle, name);
}

__attribute__((visibility("default"))) int32_t aclnnMlaPrologV3WeightNzGetWorkspaceSize(
    T x, T dq, T uq, T uk, T dkv, T gcq, T gckv, T sin, T cos, void* kv, void* kr, T index, T sx, T sdq, T suq, T sdkv,
    T qckv, T qckr, T smooth, T seq, T alpha, double ecq, double eckv, char* mode, bool query_norm_flag, int64_t w,
    int64_t kvq, int64_t q, int64_t repo, int64_t scale_repo, int64_t tile, double qc, double kc, T query, T rope,
    T q_nope, T query_norm, T q_norm, uint64_t* workspace, void** executor) {
  current_fn next = (current_fn)(intptr_t)current("aclnnMlaPrologV3WeightNzGetWorkspaceSize");
  if (next == NULL || q_nope == NULL || query_norm == NULL || q_norm == NULL) return 161001;
  const char* epsilon = getenv("STUB_EPSILON");
  if (epsilon != NULL) ecq = atof(epsilon);
  if (kvq != 1) q_nope = NULL;
  if (!query_norm_flag) query_norm = NULL;
  if (!query_norm_flag || w == 0) q_norm = NULL;
  return next(x, dq, uq, uk, dkv, gcq, gckv, sin, cos, kv, kr, index, sx, sdq, suq, sdkv, qckv, qckr, smooth, seq,
              alpha, ecq, eckv, mode, w, kvq, q, repo, scale_repo, tile, qc, kc, query, rope, q_nope, query_norm,
              q_norm, workspace, executor);
}

__attribute__((visibility("default"))) int32_t aclnnMlaPrologV3WeightNz(void* workspace, uint64_t bytes, void* executor,
                                                                        void* stream) {
  const char* status = getenv("STUB_PHASE_TWO_STATUS");
  phase_two_fn next = (phase_two_fn)(intptr_t)current("aclnnMlaPrologV3WeightNz");
  if (status != NULL) return atoi(status);
  return next == NULL ? 161001 : next(workspace, bytes, executor, stream);
}
