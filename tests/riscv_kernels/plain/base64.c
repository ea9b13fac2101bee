#include "plain.h"

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* How many bytes, or what is wrong. */
static int decode(const char *text, uint32_t length, uint8_t *bytes)
{
    int count = 0;
    if (length % 4)
        return -1;
    for (uint32_t i = 0; i < length; i += 4) {
        uint32_t word = 0, padding = 0;
        for (uint32_t j = 0; j < 4; j++) {
            const char c = text[i + j];
            if (c == '=' && i + 4 == length && j >= 2) {
                padding++;
                word <<= 6;
                continue;
            }
            const int value = digit(c);
            if (value < 0)
                return -2;
            if (padding)
                return -3;
            word = word << 6 | (uint32_t)value;
        }
        for (uint32_t j = 0; j < 3 - padding; j++)
            bytes[count++] = (uint8_t)(word >> (16 - 8 * j));
    }
    return count;
}

static void plain(uint32_t index, uint32_t *out)
{
    static const char letters[] = "AZaz09+/QmXw7b";
    char text[16];
    uint8_t bytes[12];
    uint32_t state = index;
    const uint32_t length = 4 * (index % 4) + (index % 7 == 6);
    for (uint32_t i = 0; i < length; i++)
        text[i] = letters[draw(&state) % 14];
    if (length >= 4 && index % 5 < 2)
        text[length - 1] = '=';
    if (length >= 4 && index % 3 == 0)
        text[length - 2] = '=';
    if (index % 11 == 10 && length)
        text[draw(&state) % length] = '?';
    const int count = decode(text, length, bytes);
    out[0] = (uint32_t)count;
    for (int i = 0; i < count; i++)
        out[1] = out[1] * 257 + bytes[i];
}
