/* Every thread formats one case: into its cell (a count, then text), and on the console if the host says so. */
#include <stdio.h>

#include "metronome.h"

#define CELL 272

typedef struct {
    uint32_t kind; /* of the argument: 0 word, 1 64 bits, 2 float, 3 double, 4 two words and a float, 5 two words */
    uint32_t room;
    const char *format;
    uint32_t low, high, extra;
} text_case;

typedef struct {
    char *results;
    uint32_t count, console;
    const text_case *cases;
    const char *odd;
} arguments;

static void format_one(const void *block)
{
    const arguments *const args = block;
    const text_case *const text = args->cases + blockIdx.x;
    char *const cell = args->results + blockIdx.x * CELL;
    const char *const format = text->format;
    const uint32_t low = text->low;
    const uint64_t both = (uint64_t)text->high << 32 | low;
    const float single = __builtin_bit_cast(float, low);
    char *const target = cell + 4;
    const uint32_t room = text->room;
    int length = -1;
    if (args->console) {
        /* A line of several calls. */
        SIMT_ONE_BY_ONE {
            length = printf(format, low, text->high);
            if (low & 1) {
                length += puts(args->odd);
            } else {
                length += putchar('!') == '!';
                length += putchar('\n') == '\n';
            }
        } SIMT_ENDONE
        *(int *)cell = length;
        return;
    }
    SIMT_IF(text->kind == 0) {
        length = snprintf(target, room, format, low);
    } SIMT_ENDIF
    SIMT_IF(text->kind == 1) {
        length = snprintf(target, room, format, both);
    } SIMT_ENDIF
    SIMT_IF(text->kind == 2) {
        length = snprintf(target, room, format, single);
    } SIMT_ENDIF
    SIMT_IF(text->kind == 3) {
        length = snprintf(target, room, format, __builtin_bit_cast(double, both));
    } SIMT_ENDIF
    SIMT_IF(text->kind == 4) {
        length = snprintf(target, room, format, text->high, text->extra, single);
    } SIMT_ENDIF
    SIMT_IF(text->kind == 5) {
        length = snprintf(target, room, format, low, text->high);
    } SIMT_ENDIF
    *(int *)cell = length;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->count, 0, format_one, args);
}
