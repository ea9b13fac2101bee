"""Programs that are refused, and such as look like them and are not."""

from tests.sim.program.divergence.c_programs import program

BARRIER = "a barrier where lanes of a warp may have diverged"
CALL = "which waits at a barrier, where lanes of a warp may have diverged"
POINTER = "a call through a pointer that may differ between lanes"
ENDLESS = "an endless loop where lanes have diverged"
FRAME = "not supported: an array whose length is no constant, alloca"

MEET = """
static __attribute__((noinline)) void meet(volatile uint32_t *out)
{
    out[threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x + 4] = out[threadIdx.x ^ 1];
}
static __attribute__((noinline)) void between(volatile uint32_t *out)
{
    out[8] = 1;
    meet(out);
    out[9] = 1;
}
"""
INLINED = """
static inline void meet(volatile uint32_t *out)
{
    out[threadIdx.x] = 2;
    __syncthreads(); /* HERE */
    out[threadIdx.x + 4] = out[threadIdx.x ^ 1];
}
"""
TABLE = """
static __attribute__((noinline)) uint32_t f(uint32_t x) { return x & 4 ? x + 1 : x * 5; }
static __attribute__((noinline)) uint32_t g(uint32_t x) { return x * 3; }
static uint32_t (*const table[2])(uint32_t) = {f, g};
"""
LABELS = """
static const void *const labels[] = {&&a, &&b, &&c};
goto *labels[%s %% 3]; /* HERE */
a:
out[x] = 1;
return;
b:
if (out[x] == 3)
    out[x] = 2;
c:
out[x] += 3;
"""
#: Reason and program; HERE is in the line that is named.
REFUSED = {
    "barrier in if": (BARRIER, (), program("""
if (x & 1) {
    out[x] = 1;
    __syncthreads(); /* HERE */
    out[x + 4] = 1;
}""")),
    "barrier in a loop with a bound of the lane": (BARRIER, (), program("""
for (uint32_t i = 0; i < x; i++) {
    out[x] += i;
    __syncthreads(); /* HERE */
}""")),
    "barrier in a loop that lanes break out of": (BARRIER, (), program("""
for (uint32_t i = 0; i < n; i++) {
    if (out[x] == i)
        break;
    __syncthreads(); /* HERE */
}""")),
    "barrier in a loop that block_sum bounds with cells of the lane": (BARRIER, (), program("""
uint32_t *const cells = local_memory(256);
const uint32_t turns = block_sum(x, cells + x);
for (uint32_t i = 0; i < turns; i++) {
    out[x] += i;
    __syncthreads(); /* HERE */
}""")),
    "barrier behind an early return": (BARRIER, (), program("""
if (x > 2)
    return;
out[x] = 1;
__syncthreads(); /* HERE */
out[x + 4] = out[x ^ 1];""")),
    "barrier behind a loop that some return from": (BARRIER, (), program("""
for (uint32_t i = 0; i < n; i++)
    if (out[i] == x)
        return;
__syncthreads(); /* HERE */
out[x + 4] = out[x ^ 1];""")),
    "barrier in an inlined function": (BARRIER, (), program("""
if (out[x] == 3)
    meet(out); /* HERE */""", INLINED)),
    "barrier in a function": (f"a call of meet, {CALL}", (), program("""
if (out[x] == 3)
    meet(out); /* HERE */""", MEET)),
    "barrier two calls away": (f"a call of between, {CALL}", (), program("""
while (out[x] < 3)
    between(out); /* HERE */""", MEET)),
    "block_sum": (f"a call of block_sum, {CALL}", (), program("""
uint32_t *const cells = local_memory(64);
if (x < 2)
    out[x] = block_sum(x, cells); /* HERE */""")),
    "block_sum_float": (f"a call of block_sum_float, {CALL}", (), program("""
float *const cells = local_memory(64);
switch (out[x]) {
case 1:
    out[x] = (uint32_t)block_sum_float(2.0f, cells); /* HERE */
    break;
case 5:
    out[x] = 1;
}""")),
    "pointer of the lane": (POINTER, (), program("out[x] = table[x & 1](x); /* HERE */", TABLE)),
    "pointer from memory": (POINTER, (), program("""
uint32_t (**const all)(uint32_t) = (void *)out;
uint32_t sum = 0;
for (uint32_t i = 0; i < 3; i++)
    sum += all[x + i](i); /* HERE */
out[x] = sum;""")),
    "pointer that some lanes have changed": (POINTER, (), program("""
uint32_t (*chosen)(uint32_t) = table[n];
if (x == 1) {
    out[x] = 1;
    chosen = table[n + 1];
    out[x] = 1;
}
out[x] = chosen(x); /* HERE */""", TABLE)),
    "computed goto": ("a jump through a register that may differ between lanes", (), program(LABELS % "x")),
    "endless loop": (ENDLESS, (), program("""
if (x == 1) /* HERE */
    for (;;)
        out[0]++;
out[x] = 1;""")),
    "endless loop without a body": (ENDLESS, (), program("""
if (out[x]) /* HERE */
    for (;;)
        ;
out[x] = 1;""")),
    "assembly with a label": ("inline assembly with a label", (), program("""
uint32_t y = x;
if (y & 1)
    out[y] = 2;
__asm__ volatile("own_label: addi %0, %0, 1" : "+r"(y)); /* HERE */
out[y] = 1;""")),
    "assembly that jumps": ("inline assembly that jumps", (), program("""
uint32_t y = x;
if (y & 1)
    out[y] = 2;
__asm__ volatile("beqz %0, out_of_here" : : "r"(y)); /* HERE */
out[y] = 1;""")),
    "asm goto": ("inline assembly that jumps", (), program("""
if (x & 1)
    out[x] = 2;
__asm__ goto("beqz %0, %l1" : : "r"(x) : : away); /* HERE */
out[x] = 1;
return;
away:
out[x] = 2;""")),
}
#: The compiler's own lines follow; its place is the function's.
FRAMES: dict[str, str] = {
    "array of variable length": "volatile uint32_t cells[x + 3];\ncells[x] = x;\nout[x] = cells[out[n]];",
    "alloca": "volatile uint32_t *const cells = __builtin_alloca(4 * x);\ncells[0] = x;\nout[x] = cells[out[n]];",
    "aligned variable": "_Alignas(64) volatile uint32_t cells[3];\ncells[0] = x;\nout[x] = cells[out[n]];",
}
ALLOWED = {
    "barrier under a uniform condition": program("""
if (n > 3) {
    out[x] = 1;
    __syncthreads();
    out[x + 4] = out[x ^ 1];
}"""),
    "barrier in a uniform loop": program("""
for (uint32_t i = 0; i < n; i++) {
    if (x & 1)
        out[x] += i;
    __syncthreads();
    if (out[i] == 4)
        break;
    out[x + 4] = out[x ^ 1];
    __syncthreads();
}"""),
    "barrier in a loop over blocks": program("""
for (uint32_t i = blockIdx.x; i < n; i += gridDim.x) {
    out[x] = i;
    while (out[x] > i)
        out[x] -= x;
    __syncthreads();
    out[x + 4] = out[x ^ 1];
    __syncthreads();
}"""),
    "barriers of a tree of sums": program("""
for (uint32_t step = n / 2; step > 0; step /= 2) {
    if (x < step)
        out[x] += out[x + step];
    __syncthreads();
}
if (x == 0)
    out[blockIdx.x + 64] = out[0];"""),
    "barriers until nothing changes": program("""
do {
    __syncthreads();
    if (x == 0)
        out[64] = 0;
    __syncthreads();
    if (out[x] > out[x ^ 1])
        out[64] = 1;
    __syncthreads();
} while (out[64]);"""),
    "barrier in a loop that block_sum bounds": program("""
uint32_t *const cells = local_memory(64);
const uint32_t turns = block_sum(x, cells);
for (uint32_t i = 0; i < turns; i++) {
    out[x] += i;
    __syncthreads();
}"""),
    "barrier behind a branch": program("""
if (out[x] == 3)
    out[x] = 1;
__syncthreads();
out[x + 4] = out[x ^ 1];"""),
    "barrier in a function that all call": program("""
for (uint32_t i = 0; i < n; i++)
    between(out);
if (x & 1)
    out[x] = 1;""", MEET),
    "by hand": program("""
SIMT_IF(x & 1) {
    out[x] = 1;
} SIMT_ELSE {
    out[x] = 2;
} SIMT_ENDIF
__syncthreads();
out[x + 4] = out[x ^ 1];"""),
    "exit in a branch": program("""
if (out[x] == 7)
    exit(1);
out[x] = 1;
__syncthreads();
out[x + 4] = out[x ^ 1];"""),
    "trap in a branch": program("""
if (out[x] == 7)
    __builtin_trap();
out[x] = 1;
__syncthreads();
out[x + 4] = out[x ^ 1];"""),
    "uniform pointer": program("""
out[x] = table[n & 1](x);
if (x & 1)
    out[x] += table[blockIdx.x & 1](x);
__syncthreads();""", TABLE),
    "uniform pointer in a loop": program("""
for (uint32_t i = 0; i < n; i++) {
    out[x] += table[i & 1](x);
    if (out[i] == n)
        break;
}""", TABLE),
    "uniform computed goto": program(LABELS % "n"),
    "endless loop of all lanes": program("""
for (;;) {
    if (out[x] == 5)
        out[x] += 3;
    if (out[x] == 7)
        exit(3);
}"""),
    "assembly": program("""
uint32_t y = x;
if (x & 1) {
    __asm__ volatile("addi %0, %0, 1\\n\\tslli %0, %0, 1 # twice\\n\\tnop; nop" : "+r"(y));
    out[y] = 2;
}
out[x] = y;"""),
}
ALLOWED_BUT = {
    "barrier in a loop with a call in a branch": ((), program("""
for (uint32_t i = 0; i < n; i++) {
    if (x & 1)
        out[x] = f(out[x]);
    __syncthreads();
}""", TABLE)),
    "barrier in a loop in which one prints": ((), program("""
for (uint32_t i = 0; i < n; i++) {
    if (x == 0)
        printf("round %u\\n", i);
    __syncthreads();
}""", '#include "stdio.h"')),
    "uniform pointer in a loop with a call in a branch": ((), program("""
for (uint32_t i = 0; i < n; i++)
    if (out[x] & 1)
        out[x] += table[i & 1](x);""", TABLE)),
    "barrier behind a loop that has its loop's header": ((), program("""
for (uint32_t i = blockIdx.x; i < n; i += gridDim.x) {
    while (out[x] > i)
        out[x] -= x;
    __syncthreads();
}""")),
    "endless loop of all lanes, with a branch": ((), program("""
if (n == 3)
    for (;;) {
        out[x]++;
        if (out[x] == 5)
            out[x] += 3;
    }
out[x] = 1;""")),
    "assembly that jumps where nothing diverges": ((), program("out[x] = one(n);", """
static __attribute__((noinline)) uint32_t one(uint32_t x)
{
    __asm__ volatile("bnez %0, 1f\\n\\taddi %0, %0, 1\\n1:" : "+r"(x));
    return x;
}""")),
}
