#include "plain.h"

/* A stack machine with jumps and calls: each thread runs on its own way through the same program. */
enum { PUSH, ADD, SUB, SWAP, DUP, JUMP_ZERO, JUMP, CALL, RETURN, STOP };

static const uint8_t program[] = {
    /*  0 */ DUP, JUMP_ZERO, 12, SWAP, CALL, 14, SWAP, PUSH, 1, SUB, JUMP, 0, /* 12 */ ADD, STOP,
    /* 14 */ DUP, ADD, PUSH, 3, ADD, RETURN,
};

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t stack[8] = {index, index % 9}, returns[4];
    uint32_t top = 2, depth = 0, pc = 0, turns = 0;
    while (turns++ < 90) {
        switch (program[pc++]) {
        case PUSH:
            if (top == 8)
                goto overflow;
            stack[top++] = program[pc++];
            break;
        case ADD:
            top--;
            stack[top - 1] += stack[top];
            break;
        case SUB:
            top--;
            stack[top - 1] -= stack[top];
            break;
        case SWAP: {
            const uint32_t kept = stack[top - 1];
            stack[top - 1] = stack[top - 2];
            stack[top - 2] = kept;
            break;
        }
        case DUP:
            if (top == 8)
                goto overflow;
            stack[top] = stack[top - 1];
            top++;
            break;
        case JUMP_ZERO:
            if (stack[--top]) {
                pc++;
                continue;
            }
            /* fall through */
        case JUMP:
            pc = program[pc];
            break;
        case CALL:
            returns[depth++] = pc + 1;
            pc = program[pc];
            break;
        case RETURN:
            pc = returns[--depth];
            break;
        default:
            goto done;
        }
    }
    out[3] = 1;
done:
    out[0] = stack[top - 1];
overflow:
    out[1] = turns;
    out[2] = top;
}
