#include "plain.h"

/* A number to text and back, with signs, blanks and errors. */
static int to_text(int32_t value, char *text)
{
    char digits[12];
    int count = 0, length = 0;
    uint32_t left = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    do
        digits[count++] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        text[length++] = '-';
    while (count)
        text[length++] = digits[--count];
    text[length] = 0;
    return length;
}

static int from_text(const char *text, int32_t *value)
{
    int sign = 1, any = 0;
    *value = 0;
    while (*text == ' ')
        text++;
    if (*text == '-' || *text == '+')
        sign = *text++ == '-' ? -1 : 1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        any = 1;
        *value = *value * 10 + sign * (*text - '0');
    }
    return any ? 0 : -2;
}

static void plain(uint32_t index, uint32_t *out)
{
    char text[16] = "  ";
    uint32_t state = index;
    const int32_t value = (int32_t)(draw(&state) << 16 | draw(&state)) >> (index % 30);
    const int length = to_text(value, text + index % 3);
    if (index % 8 == 7)
        text[index % 3 + (uint32_t)length / 2] = 'x';
    if (index % 8 == 3)
        text[index % 3] = 0;
    int32_t again;
    out[0] = (uint32_t)length;
    out[1] = (uint32_t)from_text(index % 3 == 1 ? text + 1 : text, &again);
    out[2] = (uint32_t)again;
}
