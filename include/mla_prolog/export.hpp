// Symbol visibility of the public API.
#pragma once

#if defined(MLA_PROLOG_STATIC)
#define MLA_PROLOG_API
#elif defined(_WIN32)
#if defined(MLA_PROLOG_BUILDING)
#define MLA_PROLOG_API __declspec(dllexport)
#else
#define MLA_PROLOG_API __declspec(dllimport)
#endif
#else
#define MLA_PROLOG_API __attribute__((visibility("default")))
#endif
