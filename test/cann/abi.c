/* The interface from C, by name: every library has its symbols, types and numbers are CANN's, parameters are in CANN's
 * order. Written against prototypes of its own, not the headers'. usage: abi LIB64 LISTS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_rt_api.h"
#include "aclnn/acl_meta.h"

#define SAME(a, b) _Static_assert((a) == (b), #a)

SAME(sizeof(aclError), 4);
SAME(sizeof(aclnnStatus), 4);
SAME(sizeof(aclDataType), 4);
SAME(sizeof(aclFormat), 4);
SAME(sizeof(aclrtStream), sizeof(void*));
SAME(sizeof(aclCANNPackageVersion), 128 + 4 * 64 + 128);
SAME(ACL_DT_UNDEFINED, -1);
SAME(ACL_FLOAT, 0);
SAME(ACL_FLOAT16, 1);
SAME(ACL_INT8, 2);
SAME(ACL_INT32, 3);
SAME(ACL_UINT8, 4);
SAME(ACL_INT16, 6);
SAME(ACL_UINT16, 7);
SAME(ACL_UINT32, 8);
SAME(ACL_INT64, 9);
SAME(ACL_UINT64, 10);
SAME(ACL_DOUBLE, 11);
SAME(ACL_BOOL, 12);
SAME(ACL_STRING, 13);
SAME(ACL_COMPLEX64, 16);
SAME(ACL_COMPLEX128, 17);
SAME(ACL_BF16, 27);
SAME(ACL_INT4, 29);
SAME(ACL_UINT1, 30);
SAME(ACL_COMPLEX32, 33);
SAME(ACL_HIFLOAT8, 34);
SAME(ACL_FLOAT8_E5M2, 35);
SAME(ACL_FLOAT8_E4M3FN, 36);
SAME(ACL_FLOAT8_E8M0, 37);
SAME(ACL_FLOAT6_E3M2, 38);
SAME(ACL_FLOAT6_E2M3, 39);
SAME(ACL_FLOAT4_E2M1, 40);
SAME(ACL_FLOAT4_E1M2, 41);
SAME(ACL_FORMAT_UNDEFINED, -1);
SAME(ACL_FORMAT_NCHW, 0);
SAME(ACL_FORMAT_NHWC, 1);
SAME(ACL_FORMAT_ND, 2);
SAME(ACL_FORMAT_NC1HWC0, 3);
SAME(ACL_FRACTAL_Z, 4);
SAME(ACL_FORMAT_NC1HWC0_C04, 12);
SAME(ACL_FORMAT_HWCN, 16);
SAME(ACL_FORMAT_NDHWC, 27);
SAME(ACL_FORMAT_FRACTAL_NZ, 29);
SAME(ACL_FORMAT_NCDHW, 30);
SAME(ACL_FORMAT_NDC1HWC0, 32);
SAME(ACL_FRACTAL_Z_3D, 33);
SAME(ACL_FORMAT_NC, 35);
SAME(ACL_FORMAT_NCL, 47);
SAME(ACL_FORMAT_FRACTAL_NZ_C0_16, 50);
SAME(ACL_FORMAT_FRACTAL_NZ_C0_32, 51);
SAME(ACL_FORMAT_FRACTAL_NZ_C0_2, 52);
SAME(ACL_FORMAT_FRACTAL_NZ_C0_4, 53);
SAME(ACL_FORMAT_FRACTAL_NZ_C0_8, 54);
SAME(ACL_MEMCPY_HOST_TO_HOST, 0);
SAME(ACL_MEMCPY_HOST_TO_DEVICE, 1);
SAME(ACL_MEMCPY_DEVICE_TO_HOST, 2);
SAME(ACL_MEMCPY_DEVICE_TO_DEVICE, 3);
SAME(ACL_MEMCPY_DEFAULT, 4);
SAME(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, 5);
SAME(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, 6);
SAME(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7);
SAME(ACL_MEM_MALLOC_HUGE_FIRST, 0);
SAME(ACL_MEM_MALLOC_HUGE_ONLY, 1);
SAME(ACL_MEM_MALLOC_NORMAL_ONLY, 2);
SAME(ACL_MEM_MALLOC_HUGE_FIRST_P2P, 3);
SAME(ACL_MEM_MALLOC_HUGE_ONLY_P2P, 4);
SAME(ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 5);
SAME(ACL_MEM_MALLOC_HUGE1G_ONLY, 6);
SAME(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7);
SAME(ACL_MEM_TYPE_LOW_BAND_WIDTH, 0x100);
SAME(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000);
SAME(ACL_MEM_ACCESS_USER_SPACE_READONLY, 0x100000);
SAME(ACL_OPT_DETERMINISTIC, 0);
SAME(ACL_OPT_ENABLE_DEBUG_KERNEL, 1);
SAME(ACL_OPT_STRONG_CONSISTENCY, 2);
SAME(ACL_DDR_MEM, 0);
SAME(ACL_HBM_MEM, 1);
SAME(ACL_HBM_MEM_P2P_NORMAL, 9);
SAME(ACL_HBM_MEM_HUGE1G, 10);
SAME(ACL_HBM_MEM_P2P_HUGE1G, 11);
SAME(ACL_MEM_NORMAL, 12);
SAME(ACL_MEM_HUGE, 13);
SAME(ACL_MEM_HUGE1G, 14);
SAME(ACL_MEM_P2P_NORMAL, 15);
SAME(ACL_MEM_P2P_HUGE, 16);
SAME(ACL_MEM_P2P_HUGE1G, 17);
SAME(ACL_RT_MEM_ATTR_MODULE_ID, 1);
SAME(ACL_RT_MEM_ATTR_VA_FLAG, 3);
SAME(sizeof(aclrtMallocAttrValue), 8);
SAME(sizeof(aclrtMallocAttribute), 12);
SAME(sizeof(aclrtMallocConfig), 16);
SAME(ACL_EVENT_STATUS_NOT_READY, 1);
SAME(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1);
SAME(ACL_STREAM_STATUS_RESERVED, 0xFFFF);
SAME(ACL_CALLBACK_BLOCK, 1);
SAME(ACL_STOP_ON_FAILURE, 1);
SAME(ACL_ERROR_RT_PARAM_INVALID, 107000);
SAME(ACL_ERROR_RT_STREAM_ABORT, 107023);
SAME(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 207000);
SAME(ACL_ERROR_RT_DEVICE_OOM, 207018);
SAME(ACL_ERROR_RT_INTERNAL_ERROR, 507000);
SAME(ACL_ERROR_RT_AICORE_EXCEPTION, 507015);
SAME(ACL_ERROR_RT_AICPU_EXCEPTION, 507018);
SAME(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, 507035);
SAME(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);
SAME(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, 507047);
SAME(ACL_ERROR_RT_SUSPECT_REMOTE_ERROR, 507057);
SAME(ACL_ERROR_RT_SOCKET_CLOSE, 507901);
SAME(ACL_PKG_NAME_CANN, 0);
SAME(ACL_PKG_NAME_DRIVER, 7);

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

/* The status numbers are objects, not constant expressions in C. */
static void check_numbers(void) {
  const struct {
    int actual, expected;
  } numbers[] = {
      {ACL_SUCCESS, 0},
      {ACL_ERROR_INVALID_PARAM, 100000},
      {ACL_ERROR_UNINITIALIZE, 100001},
      {ACL_ERROR_REPEAT_INITIALIZE, 100002},
      {ACL_ERROR_INVALID_FILE, 100003},
      {ACL_ERROR_OP_NOT_FOUND, 100024},
      {ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026},
      {ACL_ERROR_FORMAT_NOT_MATCH, 100027},
      {ACL_ERROR_REPEAT_FINALIZE, 100037},
      {ACL_ERROR_INVALID_OPP_PATH, 148049},
      {ACL_ERROR_BAD_ALLOC, 200000},
      {ACL_ERROR_API_NOT_SUPPORT, 200001},
      {ACL_ERROR_INVALID_DEVICE, 200002},
      {ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003},
      {ACL_ERROR_RESOURCE_NOT_MATCH, 200004},
      {ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005},
      {ACL_ERROR_FEATURE_UNSUPPORTED, 200006},
      {ACL_ERROR_STORAGE_OVER_LIMIT, 300000},
      {ACL_ERROR_INTERNAL_ERROR, 500000},
      {ACL_ERROR_FAILURE, 500001},
      {ACL_ERROR_GE_FAILURE, 500002},
      {ACL_ERROR_RT_FAILURE, 500003},
      {ACL_ERROR_DRV_FAILURE, 500004},
      {ACL_ERROR_PROFILING_FAILURE, 500005},
      {ACLNN_ERR_PARAM_NULLPTR, 161001},
      {ACLNN_ERR_PARAM_INVALID, 161002},
      {ACLNN_ERR_RUNTIME_ERROR, 361001},
      {ACLNN_ERR_INNER, 561000},
      {ACLNN_ERR_INNER_TILING_ERROR, 561002},
      {ACLNN_ERR_INNER_FIND_KERNEL_ERROR, 561003},
      {ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101},
      {ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID, 561119},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    char text[64];
    snprintf(text, sizeof text, "status number %d", numbers[i].expected);
    expect(numbers[i].actual == numbers[i].expected, text);
  }
}

static void* open_library(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", folder, name);
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return handle;
}

/* Function pointers are not object pointers in ISO C; POSIX has them convertible through their bytes. */
#define LOOK_UP(pointer, handle, name)          \
  do {                                          \
    void* symbol = dlsym(handle, name);         \
    expect(symbol != NULL, name);               \
    memcpy(&(pointer), &symbol, sizeof symbol); \
  } while (0)

/* Each symbol lies in the very library that lists it. */
static void check_library(const char* folder, const char* lists, const char* name) {
  void* handle = open_library(folder, name);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.list", lists, name);
  FILE* list = fopen(path, "r");
  char symbol[256];
  int count = 0;
  expect(list != NULL, path);
  while (list != NULL && fscanf(list, "%255s", symbol) == 1) {
    Dl_info info;
    void* address = dlsym(handle, symbol);
    expect(address != NULL, symbol);
    if (address == NULL || dladdr(address, &info) == 0) continue;
    const char* file = strrchr(info.dli_fname, '/');
    expect(file != NULL && strncmp(file + 1, name, strlen(name)) == 0, symbol);
    ++count;
  }
  expect(count > 0, path);
  if (list != NULL) fclose(list);
}

typedef void* (*create_tensor_fn)(const int64_t*, uint64_t, int, const int64_t*, int64_t, int, const int64_t*, uint64_t,
                                  void*);
typedef int32_t (*v3_fn)(const void*, const void*, const void*, const void*, const void*, const void*, const void*,
                         const void*, const void*, void*, void*, const void*, const void*, const void*, const void*,
                         const void*, const void*, const void*, const void*, const void*, const void*, double, double,
                         char*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, const void*,
                         const void*, const void*, const void*, const void*, uint64_t*, void**);
typedef int32_t (*v2_fn)(const void*, const void*, const void*, const void*, const void*, const void*, const void*,
                         const void*, const void*, const void*, void*, void*, const void*, const void*, const void*,
                         const void*, const void*, const void*, const void*, double, double, char*, const void*,
                         const void*, const void*, uint64_t*, void**);
typedef int32_t (*v1_fn)(const void*, const void*, const void*, const void*, const void*, const void*, const void*,
                         const void*, const void*, const void*, void*, void*, const void*, const void*, const void*,
                         const void*, const void*, const void*, const void*, double, double, char*, const void*,
                         const void*, uint64_t*, void**);
typedef const char* (*text_fn)(void);

enum { TOKENS = 4, SLOT_INDEX = 11, REQUIRED = 14 };

/* In V3's order, then query and query_rope. */
static const char* const kNames[REQUIRED] = {"token_x",       "weight_dq",        "weight_uq_qr",      "weight_uk",
                                             "weight_dkv_kr", "rmsnorm_gamma_cq", "rmsnorm_gamma_ckv", "rope_sin",
                                             "rope_cos",      "kv_cache",         "kr_cache",          "cache_index",
                                             "query",         "query_rope"};

static void* tensors[REQUIRED];

static void make_tensors(void* nnop) {
  static const int64_t shapes[REQUIRED][5] = {{2, TOKENS, 1024},
                                              {4, 96, 64, 16, 16},
                                              {4, 12, 96, 16, 16},
                                              {3, 1, 128, 512},
                                              {4, 36, 64, 16, 16},
                                              {1, 1536},
                                              {1, 512},
                                              {2, TOKENS, 64},
                                              {2, TOKENS, 64},
                                              {4, 2, 16, 1, 512},
                                              {4, 2, 16, 1, 64},
                                              {1, TOKENS},
                                              {3, TOKENS, 1, 512},
                                              {3, TOKENS, 1, 64}};
  create_tensor_fn create;
  LOOK_UP(create, nnop, "aclCreateTensor");
  for (int i = 0; i < REQUIRED; ++i) {
    const int64_t rank = shapes[i][0];
    const int nz = i == 1 || i == 2 || i == 4;
    tensors[i] = create(shapes[i] + 1, (uint64_t)rank, i == SLOT_INDEX ? 9 : 27, NULL, 0, nz ? 29 : 2, shapes[i] + 1,
                        (uint64_t)rank, NULL);
    expect(tensors[i] != NULL, "aclCreateTensor");
  }
}

static uint64_t workspace_size;
static void* executor;

static int32_t call_v3(v3_fn f, void* const* t, char* mode, int64_t w, int64_t kv, int64_t q, int64_t repo,
                       int64_t scale_repo, int64_t tile) {
  return f(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, 1e-5, 1e-5, mode, w, kv, q, repo, scale_repo, tile, 1.0, 1.0, t[12], t[13], NULL, NULL,
           NULL, &workspace_size, &executor);
}

static int32_t call_v2(v2_fn f, void* const* t, char* mode) {
  return f(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[11], t[9], t[10], NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, 1e-5, 1e-5, mode, t[12], t[13], NULL, &workspace_size, &executor);
}

static int32_t call_v1(v1_fn f, void* const* t, char* mode) {
  return f(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[11], t[9], t[10], NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, 1e-5, 1e-5, mode, t[12], t[13], &workspace_size, &executor);
}

static text_fn recent_error;

/* The last refusal had this status, and its text names the parameter. */
static void expect_refusal(int32_t status, int32_t expected, const char* name) {
  const char* text = recent_error();
  char what[512];
  snprintf(what, sizeof what, "%s: status %d, expected %d, text %s", name, status, expected, text == NULL ? "" : text);
  expect(status == expected && text != NULL && strstr(text, name) != NULL, what);
}

static void check_parameter_order(void* op, void* acl) {
  char mode[] = "PA_BSND";
  char other[] = "PA_XYZ";
  v3_fn v3;
  v2_fn v2;
  v1_fn v1;
  LOOK_UP(v3, op, "aclnnMlaPrologV3WeightNzGetWorkspaceSize");
  LOOK_UP(v2, op, "aclnnMlaPrologV2WeightNzGetWorkspaceSize");
  LOOK_UP(v1, op, "aclnnMlaPrologGetWorkspaceSize");
  LOOK_UP(recent_error, acl, "aclGetRecentErrMsg");
  expect(call_v3(v3, tensors, mode, 0, 0, 0, 0, 0, 128) == 0, "V3 accepts the call");
  expect(workspace_size > 16777216 && executor != NULL, "V3 returns a workspace and an executor");
  expect(call_v3(v3, tensors, NULL, 0, 0, 0, 0, 0, 128) == 0, "V3 takes a null cacheMode as PA_BSND");
  expect(call_v2(v2, tensors, mode) == 0, "V2 accepts the call");
  expect(call_v1(v1, tensors, mode) == 0, "V1 accepts the call");
  expect_refusal(call_v2(v2, tensors, NULL), 561002, "cache_mode");
  expect_refusal(call_v1(v1, tensors, NULL), 561002, "cache_mode");
  expect_refusal(call_v3(v3, tensors, other, 0, 0, 0, 0, 0, 128), 561002, "cache_mode");
  expect_refusal(call_v3(v3, tensors, mode, 9, 0, 0, 0, 0, 128), -1, "weight_quant_mode");
  expect_refusal(call_v3(v3, tensors, mode, 0, 1, 0, 0, 0, 128), -1, "kv_cache_quant_mode");
  expect_refusal(call_v3(v3, tensors, mode, 0, 0, 2, 0, 0, 128), -1, "query_quant_mode");
  expect_refusal(call_v3(v3, tensors, mode, 0, 0, 0, 1, 0, 128), 561002, "ckvkr_repo_mode");
  expect_refusal(call_v3(v3, tensors, mode, 0, 0, 0, 0, 1, 128), 561002, "quant_scale_repo_mode");
  expect_refusal(call_v3(v3, tensors, mode, 0, 0, 0, 0, 0, 64), 561002, "tile_size");
  for (int i = 0; i < REQUIRED; ++i) {
    void* some[REQUIRED];
    memcpy(some, tensors, sizeof some);
    some[i] = NULL;
    const int32_t expected = i == SLOT_INDEX ? 561002 : 161001; /* V3's cacheIndex is optional for the first checks */
    expect_refusal(call_v3(v3, some, mode, 0, 0, 0, 0, 0, 128), expected, kNames[i]);
    expect_refusal(call_v2(v2, some, mode), 161001, kNames[i]);
    expect_refusal(call_v1(v1, some, mode), 161001, kNames[i]);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  static const char* const libraries[] = {"libascendcl",          "libacl_rt",     "libnnopbase", "libopapi",
                                          "libopapi_transformer", "libopapi_math", "libopapi_nn"};
  check_numbers();
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i) check_library(argv[1], argv[2], libraries[i]);
  void* op = open_library(argv[1], "libopapi_transformer");
  /* A plug-in looks for the tensor functions through the operator library's handle. */
  expect(dlsym(op, "aclCreateTensor") != NULL, "aclCreateTensor through libopapi_transformer");
  expect(dlopen("libcust_opapi.so", RTLD_LAZY) == NULL, "there is no libcust_opapi.so");
  make_tensors(open_library(argv[1], "libnnopbase"));
  /* Two libraries with the same functions are one runtime: an error of one is read from the other. */
  check_parameter_order(op, open_library(argv[1], "libacl_rt"));
  if (failures == 0) puts("ok");
  return failures == 0 ? 0 : 1;
}
