// The status of each SM of a GPU at the end of a program (tb/gpu_top.sv), for Python (tb/gpu_tb.py).

#include <cstdint>
#include <cstring>

#include "svdpi.h"

namespace {

constexpr int kMostSms = 16;  // hdl.gpu.config
constexpr int kStatusWords = 512;

uint32_t statuses[kMostSms][kStatusWords];

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void *gpu_status_address() { return statuses; }
__attribute__((visibility("default"))) uint64_t gpu_status_bytes() { return sizeof statuses; }

void gpu_status(int sm, const svBitVecVal *status, int words) {
    std::memcpy(statuses[sm], status, static_cast<size_t>(words) * sizeof(uint32_t));
}

}  // extern "C"
