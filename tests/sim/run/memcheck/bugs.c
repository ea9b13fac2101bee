/* Wrong uses of memory, 15 of each kind: the line with KIND-NUMBER in a comment is the one to be reported.
 *
 * Each is a function that all threads of one block run, which has more than one warp. The argument block: the number of
 * the function, the threads, and two buffers of 16 words; `in` has been written, `out` has not.
 */
#include "metronome.h"

typedef volatile uint32_t word;

typedef struct {
    uint32_t number, threads;
    word *in, *out;
} arguments;

#define BUG(name) __attribute__((noinline)) static void name(const arguments *args __attribute__((unused)))
#define MINE (threadIdx.x)
#define NEXT ((threadIdx.x + 2) % args->threads) /* in another warp of two lanes */
#define LOCAL ((word *)local_memory(4096))
#define WORDS 16

static word global_word, global_words[64];
static volatile uint8_t global_bytes[64];
static word *shared_pointer;
word *volatile dangling;

/* The value decides something: which lanes go first. */
static uint32_t keep(uint32_t value)
{
    simt_join(simt_split(&value));
    return value;
}

/* ---- outside ---- */
BUG(outside_1) { keep(args->in[WORDS]); } /* outside-1 */
BUG(outside_2) { args->out[WORDS] = 1; } /* outside-2 */
BUG(outside_3) { keep(args->in[-2]); } /* outside-3 */
BUG(outside_4) { args->out[-3] = 1; } /* outside-4 */
BUG(outside_5) { keep(((volatile uint8_t *)args->in)[4 * WORDS]); } /* outside-5 */
BUG(outside_6) { ((volatile uint16_t *)args->out)[2 * WORDS + MINE] = 1; } /* outside-6 */
BUG(outside_7) { keep(*(word *)0x40000000); } /* outside-7 */
BUG(outside_8) { *(word *)0x40000000 = 1; } /* outside-8 */
BUG(outside_9) { keep(((word *)0x200)[MINE]); } /* outside-9 */
BUG(outside_10) { *(word *)0x7000 = 1; } /* outside-10 */
BUG(outside_11) { keep(((word *)args)[4]); } /* outside-11 */
extern uint32_t _end[];
BUG(outside_12) { keep(((word *)_end)[MINE]); } /* outside-12 */
BUG(outside_13) { *(word *)(0xffff0000 - 8192 * args->threads - 4) = 1; } /* outside-13 */
BUG(outside_14)
{
    for (uint32_t i = 0; i < 3; i++)
        args->out[MINE + i * 8] = i; /* outside-14 */
}
BUG(outside_15)
{
    SIMT_IF(MINE == 3) {
        ((volatile float *)args->out)[WORDS + MINE] = 1.5f; /* outside-15 */
    } SIMT_ENDIF
}

/* ---- unwritten ---- */
BUG(unwritten_1) { keep(LOCAL[MINE]); } /* unwritten-1 */
BUG(unwritten_2) { keep(((volatile uint8_t *)LOCAL)[MINE]); } /* unwritten-2 */
BUG(unwritten_3)
{
    LOCAL[2 * MINE] = 1;
    __syncthreads();
    keep(LOCAL[2 * NEXT + 1]); /* unwritten-3 */
}
BUG(unwritten_4)
{
    word array[8];
    keep(array[args->number & 7]); /* unwritten-4 */
}
BUG(unwritten_5)
{
    word array[8];
    for (uint32_t i = 0; i < 7; i++)
        array[i] = i;
    for (uint32_t i = 0; i < 8; i++)
        keep(array[i]); /* unwritten-5 */
}
__attribute__((noinline)) static word *frame(void)
{
    word array[4];
    array[1] = 5;
    word *place = array;
    __asm__ volatile("" : "+r"(place));
    return place;
}
BUG(unwritten_6)
{
    keep(frame()[1]); /* unwritten-6 */
}
__attribute__((noinline)) static void writes_or_reads(uint32_t writes)
{
    word array[4];
    if (writes)
        array[2] = writes;
    else
        keep(array[2]); /* unwritten-7 */
}
BUG(unwritten_7)
{
    writes_or_reads(1);
    writes_or_reads(0);
}
BUG(unwritten_8)
{
    volatile uint8_t flag;
    keep(flag); /* unwritten-8 */
}
BUG(unwritten_9)
{
    volatile struct { uint32_t a, b, c; } record;
    record.a = args->number;
    record.c = 2;
    keep(record.b); /* unwritten-9 */
}
BUG(unwritten_10) { keep(args->out[MINE]); } /* unwritten-10 */
BUG(unwritten_11)
{
    args->out[MINE] = 1;
    keep(args->out[MINE + 8]); /* unwritten-11 */
}
BUG(unwritten_12)
{
    float value = ((volatile float *)LOCAL)[MINE]; /* unwritten-12 */
    keep(value < 1.0f);
}
BUG(unwritten_13)
{
    LOCAL[MINE] = args->number;
    SIMT_IF(MINE == 2) {
        keep(LOCAL[MINE + 8]); /* unwritten-13 */
    } SIMT_ENDIF
}
BUG(unwritten_14)
{
    LOCAL[MINE] = args->number;
    keep(LOCAL[1024 + MINE]); /* unwritten-14 */
}
BUG(unwritten_15) { keep(*(word *)0x90); } /* unwritten-15 */

/* ---- stack ---- */
BUG(stack_1)
{ /* stack-1 */
    word array[4096];
    array[keep(0)] = args->number;
    keep(array[keep(0)]);
}
BUG(stack_2)
{ /* stack-2 */
    volatile uint8_t array[9000];
    for (uint32_t i = 0; i < 9000; i += 500)
        array[i] = args->number;
}
__attribute__((noinline)) static uint32_t deep(uint32_t n)
{ /* stack-3 */
    word array[60];
    array[n % 60] = n;
    return n ? deep(n - 1) + array[n % 60] : 0;
}
BUG(stack_3) { keep(deep(100)); }
static uint32_t pong(uint32_t n);
__attribute__((noinline)) static uint32_t ping(uint32_t n)
{ /* stack-4 */
    word array[200];
    array[n % 200] = n;
    return n ? pong(n - 1) + array[n % 200] : 0;
}
__attribute__((noinline)) static uint32_t pong(uint32_t n) { return keep(ping(n)) + 1; }
BUG(stack_4) { keep(ping(20)); }
BUG(stack_5)
{
    word array[args->number * 100]; /* stack-5 */
    array[0] = 1;
}
__attribute__((noinline)) static void third(void)
{ /* stack-6 */
    word array[700];
    array[keep(0)] = 3;
}
__attribute__((noinline)) static void second(void)
{
    word array[700];
    array[keep(0)] = 2;
    third();
    keep(array[keep(0)]);
}
BUG(stack_6)
{
    word array[700];
    array[keep(0)] = args->number;
    second();
    keep(array[keep(0)]);
}
BUG(stack_7)
{
    word array[8];
    int32_t far = -2040 - (int32_t)(args->number & 1);
    word *place = array;
    __asm__ volatile("" : "+r"(place));
    place[far] = 1; /* stack-7 */
}
BUG(stack_8)
{
    word array[8];
    word *place = array;
    __asm__ volatile("" : "+r"(place));
    array[0] = args->number;
    __syncthreads();
    SIMT_IF(MINE == 1) {
        keep(place[-2048]); /* stack-8 */
    } SIMT_ENDIF
}
BUG(stack_9)
{
    word array[8];
    word *place = array;
    __asm__ volatile("" : "+r"(place));
    array[0] = args->number;
    __syncthreads();
    SIMT_IF(MINE == 3) {
        place[2048] = 1; /* stack-9 */
    } SIMT_ENDIF
}
BUG(stack_10)
{
    word mine = args->number;
    SIMT_IF(MINE == 3) {
        shared_pointer = &mine;
    } SIMT_ENDIF
    __syncthreads();
    SIMT_IF(MINE == 0) {
        keep(*shared_pointer); /* stack-10 */
    } SIMT_ENDIF
    __syncthreads();
}
BUG(stack_11)
{
    SIMT_IF(MINE == 3) {
        *(word *)(0xffff0000 - 4096) = 1; /* stack-11 */
    } SIMT_ENDIF
}
typedef struct { word words[2100]; } large;
BUG(stack_12)
{ /* stack-12 */
    large first;
    first.words[keep(2)] = args->number;
    keep(first.words[keep(2)]);
}
__attribute__((noinline)) static void only_some(void)
{ /* stack-13 */
    word array[2500];
    array[MINE] = 1;
}
BUG(stack_13)
{
    SIMT_IF(MINE == 2) {
        only_some();
    } SIMT_ENDIF
}
BUG(stack_14)
{
    word array[8];
    array[0] = args->number;
    word *place = (word *)((uint32_t)array - 8192 + 4 * MINE);
    SIMT_IF(MINE < 2) {
        *place = 1; /* stack-14 */
    } SIMT_ENDIF
}
BUG(stack_15)
{ /* stack-15 */
    volatile float array[3000];
    array[2999] = 1.0f;
    array[args->number] = 2.0f;
}

/* ---- race ---- */
BUG(race_1) { global_word = args->number + MINE; } /* race-1 */
BUG(race_2)
{
    global_words[MINE] = args->number;
    keep(global_words[NEXT]); /* race-2 */
}
BUG(race_3)
{
    keep(args->in[NEXT]);
    args->in[MINE] = 1; /* race-3 */
}
BUG(race_4)
{
    LOCAL[MINE] = args->number;
    LOCAL[8 + MINE] = LOCAL[NEXT]; /* race-4 */
}
BUG(race_5)
{
    LOCAL[MINE] = args->number;
    __syncthreads();
    keep(LOCAL[NEXT]);
    LOCAL[MINE] = 2; /* race-5 */
}
BUG(race_6)
{
    LOCAL[MINE] = args->number;
    simt_bar(0, 1);
    keep(LOCAL[NEXT]); /* race-6 */
}
BUG(race_7)
{
    LOCAL[MINE] = args->number;
    __asm__ volatile("fence" ::: "memory");
    keep(LOCAL[NEXT]); /* race-7 */
}
BUG(race_8)
{
    global_bytes[MINE] = args->number;
    keep(((volatile uint16_t *)global_bytes)[NEXT / 2]); /* race-8 */
}
BUG(race_9)
{
    global_bytes[4 + MINE] = 1;
    SIMT_IF(MINE == 0) {
        *(word *)(global_bytes + 4) = 3; /* race-9 */
    } SIMT_ENDIF
}
BUG(race_10) { global_word += 1; } /* race-10 */
BUG(race_11)
{
    LOCAL[MINE] = MINE;
    __syncthreads();
    for (uint32_t step = args->threads / 2; step; step /= 2) {
        SIMT_IF(MINE < step) {
            LOCAL[MINE] += LOCAL[MINE + step];
        } SIMT_ENDIF
    }
    keep(LOCAL[0]); /* race-11 */
}
BUG(race_12)
{
    SIMT_IF(MINE == 0) {
        global_words[1] = args->number;
    } SIMT_ENDIF
    SIMT_IF(MINE == 3) {
        global_words[1] = 7; /* race-12 */
    } SIMT_ENDIF
}
BUG(race_13)
{
    *dangling = MINE; /* race-13 */
}
BUG(race_14)
{
    SIMT_IF(MINE == 0) {
        global_words[8] = args->number;
        global_words[9] = 1;
    } SIMT_ENDIF
    SIMT_IF(MINE == 3) {
        for (uint32_t i = 0; i < 20; i++)
            keep(global_words[9]); /* race-14 */
    } SIMT_ENDIF
}
BUG(race_15)
{
    for (uint32_t i = 0; i < 3; i++) {
        LOCAL[MINE] = i; /* race-15 */
        __syncthreads();
        keep(LOCAL[NEXT]);
    }
}

/* ---- what is right ---- */
BUG(right_1)
{
    for (uint32_t i = 0; i < 3; i++) {
        LOCAL[MINE] = i;
        __syncthreads();
        keep(LOCAL[NEXT]);
        __syncthreads();
    }
}
/* A flag behind a fence. */
BUG(right_2)
{
    SIMT_IF(MINE == 0) {
        global_words[8] = args->number;
        __asm__ volatile("fence" ::: "memory");
        global_words[9] = 1;
    } SIMT_ENDIF
    if (simt_warp_id() == 1) {
        while (!global_words[9])
            ;
        keep(global_words[8]);
    }
}
/* Bytes of one word; a structure with a hole; main's variables; characters of all threads. */
BUG(right_3)
{
    struct { uint8_t a; uint32_t b; } one, two;
    global_bytes[MINE] = args->number;
    keep(global_bytes[MINE]);
    one.a = 1;
    one.b = args->number;
    __builtin_memcpy(&two, &one, sizeof two);
    keep(two.a + two.b);
    keep(*dangling);
    console_putchar('x');
}

#define ALL(kind)                                                                                                  \
    kind##_1, kind##_2, kind##_3, kind##_4, kind##_5, kind##_6, kind##_7, kind##_8, kind##_9, kind##_10, kind##_11, \
        kind##_12, kind##_13, kind##_14, kind##_15

static void (*const bugs[])(const arguments *) = {
    ALL(outside), ALL(unwritten), ALL(stack), ALL(race), right_1, right_2, right_3,
};

static void thread(const void *block)
{
    const arguments *const args = block;
    bugs[args->number](args);
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t blocks = 1;
    word variable = 1;
    dangling = &variable;
    return spawn_threads(1, &blocks, &args->threads, thread, args);
}
