// One entry function per reader, as libFuzzer calls it; the replay test calls the same one.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
