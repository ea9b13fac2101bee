/* The small services: start-up, console, CSR access, float selects, memory functions, calls from threads, BSS. */
#include "metronome.h"

#include <stddef.h>

void *memcpy(void *target, const void *source, size_t bytes);
void *memset(void *target, int value, size_t bytes);

static uint32_t zeroed[77];
static uint32_t initialised[3] = {11, 22, 33};
static const char greeting[] = "hi";

typedef struct {
    uint32_t *results;
    uint32_t threads;
} arguments;

__attribute__((noinline)) static uint32_t factorial(uint32_t n)
{
    volatile uint32_t kept = n; /* on the stack of the lane */
    return n < 2 ? 1 : factorial(n - 1) * kept;
}

static void thread(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    const float chosen = simt_select_float(i & 1, (float)i, -(float)i);
    uint32_t *const cell = args->results + 64 + 4 * i;
    cell[0] = __builtin_bit_cast(uint32_t, chosen);
    uint32_t sum = 0;
    /* Lanes differ in value, not in depth: the branch in the recursion is uniform. */
    for (uint32_t k = 0; k < 5; k++)
        sum += factorial(k + 2) * i;
    cell[1] = sum;
    SIMT_IF(i % 3 == 0) {
        cell[2] = factorial(4) + i;
    } SIMT_ELSE {
        cell[2] = factorial(3) + i;
    } SIMT_ENDIF
    console_putchar((char)('A' + i));
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    uint32_t *const results = args->results;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 77; i++)
        bits |= zeroed[i];
    results[0] = bits;
    for (uint32_t i = 0; i < 77; i++)
        zeroed[i] = i;
    memcpy(results + 1, initialised, sizeof initialised);
    memset(results + 4, 0x5a, 8);
    results[6] = simt_num_threads();
    results[7] = simt_num_warps();
    results[8] = simt_active_warps();
    results[9] = simt_active_threads();
    results[10] = simt_hart_id();
    __asm__ volatile("mv %0, sp" : "=r"(results[11]));
    console_puts(greeting);
    console_hex(0x1234abcd);
    const int status = spawn_threads(1, &args->threads, 0, thread, args);
    results[12] = zeroed[76];
    exit(status + 42);
}
