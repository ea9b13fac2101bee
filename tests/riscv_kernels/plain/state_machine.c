#include "plain.h"

/* Words, comments, numbers and errors of a made text. */
enum { BETWEEN, WORD, NUMBER, COMMENT };

static void plain(uint32_t index, uint32_t *out)
{
    static const char letters[] = "ab1 2#\n_ ";
    uint32_t state = index, mode = BETWEEN;
    for (uint32_t i = 0; i < 30 + index % 20; i++) {
        const char c = letters[draw(&state) % 9];
        switch (mode) {
        case BETWEEN:
            if (c == '#') {
                mode = COMMENT;
                out[1]++;
                break;
            }
            if (c == ' ' || c == '\n')
                continue;
            /* fall through */
        case WORD:
            if (c >= '0' && c <= '9' && mode == BETWEEN) {
                mode = NUMBER;
                out[2]++;
            } else if (c == ' ' || c == '\n') {
                mode = BETWEEN;
            } else if (mode == BETWEEN) {
                mode = WORD;
                out[0]++;
            }
            break;
        case NUMBER:
            if (c == ' ' || c == '\n') {
                mode = BETWEEN;
                break;
            }
            if (c < '0' || c > '9')
                goto error;
            break;
        default:
            if (c == '\n')
                mode = BETWEEN;
        }
    }
    out[3] = mode;
    return;
error:
    out[3] = 99;
}
