// The status of each SM of a GPU at the end of a program (tb/gpu_top.sv), for Python (tb/gpu_tb.py).

#include <cstdint>
#include <cstring>

#include "svdpi.h"

namespace {

constexpr int kMostSms = 16;  // hdl.gpu.config
constexpr int kStatusWords = 512;
constexpr int kMostWarps = 64;

uint32_t statuses[kMostSms][kStatusWords];
// By SM and warp: the lanes of the instruction that it issued last; 0 if that is not known.
uint32_t masks[kMostSms][kMostWarps];

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void *gpu_status_address() { return statuses; }
__attribute__((visibility("default"))) uint64_t gpu_status_bytes() { return sizeof statuses; }

__attribute__((visibility("default"))) void *gpu_masks_address() { return masks; }
__attribute__((visibility("default"))) uint64_t gpu_masks_bytes() { return sizeof masks; }

void gpu_status(int sm, const svBitVecVal *status, int words, const svBitVecVal *lanes) {
    std::memcpy(statuses[sm], status, static_cast<size_t>(words) * sizeof(uint32_t));
    std::memcpy(masks[sm], lanes, sizeof masks[sm]);
}

}  // extern "C"
