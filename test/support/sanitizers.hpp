// Which sanitizer a test is compiled with: MLA_PROLOG_TEST_ASAN and MLA_PROLOG_TEST_TSAN are 0 or 1.
#pragma once

#if defined(__has_feature)
#define MLA_PROLOG_TEST_FEATURE(name) __has_feature(name)
#else
#define MLA_PROLOG_TEST_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || MLA_PROLOG_TEST_FEATURE(address_sanitizer)
#define MLA_PROLOG_TEST_ASAN 1
#else
#define MLA_PROLOG_TEST_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || MLA_PROLOG_TEST_FEATURE(thread_sanitizer)
#define MLA_PROLOG_TEST_TSAN 1
#else
#define MLA_PROLOG_TEST_TSAN 0
#endif
