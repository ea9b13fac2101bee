#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    static const char kinds[] = "()[]{}";
    char stack[8];
    uint32_t state = index, top = 0, i;
    for (i = 0; i < 24; i++) {
        const uint32_t drawn = draw(&state);
        /* It mostly closes what is open. */
        char c = kinds[drawn % 6];
        if (drawn % 11 < 7 && top && (c == ')' || c == ']' || c == '}'))
            c = stack[top - 1] == '(' ? ')' : stack[top - 1] == '[' ? ']' : '}';
        switch (c) {
        case '(':
        case '[':
        case '{':
            if (top == 8) {
                out[0] = 1;
                goto done;
            }
            stack[top++] = c;
            out[2]++;
            continue;
        default:
            if (!top || (c == ')') != (stack[top - 1] == '(') || (c == '}') != (stack[top - 1] == '{')) {
                out[0] = 2;
                goto done;
            }
            top--;
        }
    }
    out[0] = top ? 3 : 0;
done:
    out[1] = i;
    out[3] = top;
}
