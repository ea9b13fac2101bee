// How often each part of the design has run, as a build with -fprofile-generate counts it. Any other build counts
// nothing. The wheel of the compiler lacks the library that writes such counts; sim/build/profile.py reads these.

#include <cstdint>
#include <cstdio>

// By the linker, if there are such sections: counters, data of each function, the functions' names.
#define SECTION(name) \
    extern "C" __attribute__((weak, visibility("hidden"))) const char __start___llvm_prf_##name[]; \
    extern "C" __attribute__((weak, visibility("hidden"))) const char __stop___llvm_prf_##name[];
SECTION(cnts)
SECTION(data)
SECTION(names)

namespace {

uint64_t address(const char *place) { return reinterpret_cast<uint64_t>(place); }

}  // namespace

// Write the sections to a file: four words of 64 bits, which are their sizes and the way from the counters to the data,
// and then the three of them. Whether all of it could be written.
extern "C" __attribute__((visibility("default"))) bool profile_write(const char *path) {
    if (__start___llvm_prf_cnts == nullptr) return false;
    const uint64_t head[4] = {
        address(__stop___llvm_prf_cnts) - address(__start___llvm_prf_cnts),
        address(__stop___llvm_prf_data) - address(__start___llvm_prf_data),
        address(__stop___llvm_prf_names) - address(__start___llvm_prf_names),
        address(__start___llvm_prf_data) - address(__start___llvm_prf_cnts),
    };
    std::FILE *file = std::fopen(path, "wb");
    if (file == nullptr) return false;
    bool whole = std::fwrite(head, sizeof head, 1, file) == 1;
    whole &= std::fwrite(__start___llvm_prf_cnts, 1, head[0], file) == head[0];
    whole &= std::fwrite(__start___llvm_prf_data, 1, head[1], file) == head[1];
    whole &= std::fwrite(__start___llvm_prf_names, 1, head[2], file) == head[2];
    return std::fclose(file) == 0 && whole;
}
