#include "plain.h"

/* Recursive descent: sums of products of numbers and parentheses; -1 in *bad at the first error. */
static uint32_t sum(const char **at, int *bad);

static uint32_t factor(const char **at, int *bad)
{
    if (**at == '(') {
        ++*at;
        const uint32_t value = sum(at, bad);
        if (**at != ')') {
            *bad = 1;
            return value;
        }
        ++*at;
        return value;
    }
    if (**at < '0' || **at > '9') {
        *bad = 2;
        return 0;
    }
    uint32_t value = 0;
    while (**at >= '0' && **at <= '9')
        value = value * 10 + (uint32_t)(*(*at)++ - '0');
    return value;
}

static uint32_t product(const char **at, int *bad)
{
    uint32_t value = factor(at, bad);
    while (!*bad && (**at == '*' || **at == '/')) {
        const char operation = *(*at)++;
        const uint32_t right = factor(at, bad);
        if (operation == '*')
            value *= right;
        else if (right)
            value /= right;
        else
            *bad = 3;
    }
    return value;
}

static uint32_t sum(const char **at, int *bad)
{
    uint32_t value = product(at, bad);
    for (;;) {
        if (*bad)
            return value;
        if (**at == '+') {
            ++*at;
            value += product(at, bad);
        } else if (**at == '-') {
            ++*at;
            value -= product(at, bad);
        } else {
            return value;
        }
    }
}

static const char *const texts[12] = {
    "1+2*3", "(1+2)*3", "((7))", "8/(4-4)", "2*(3+(4-1)*5)-6", "(1", "12*12*12-1", "", "3+", "5-7", "100/7/2*(9+9)", "1)",
};

static void plain(uint32_t index, uint32_t *out)
{
    const char *at = texts[index % 12];
    int bad = 0;
    const uint32_t value = sum(&at, &bad);
    if (!bad && *at)
        bad = 4;
    if (bad) {
        out[1] = (uint32_t)bad;
        return;
    }
    out[0] = value + index;
}
