/* The digits of a float, exact: all of them are made, and rounded half to even where the text ends. */
#include "format.h"

#include "names.h"

RESERVED_CALLS;

/* A place for a carry, 39 digits before the point, 149 after it. */
#define POINT 40
#define DIGITS (POINT + 149)
#define MOST_PRECISION 149
/* Words of a fixed-point number: 160 bits after the point, 128 before it. */
#define FRACTION_WORDS 5
#define WORDS 9

typedef struct {
    uint8_t digits[DIGITS];
} decimal;

static void divide_by_ten(uint32_t *words, uint32_t *rest)
{
    for (int32_t i = WORDS - 1; i >= FRACTION_WORDS; i--) {
        const uint32_t high = *rest << 16 | words[i] >> 16;
        const uint32_t low = (high % 10) << 16 | (words[i] & 0xFFFF);
        words[i] = (high / 10) << 16 | low / 10;
        *rest = low % 10;
    }
}

static uint32_t times_ten(uint32_t *words)
{
    uint32_t carry = 0;
    for (uint32_t i = 0; i < FRACTION_WORDS; i++) {
        const uint64_t product = (uint64_t)words[i] * 10 + carry;
        words[i] = (uint32_t)product;
        carry = (uint32_t)(product >> 32);
    }
    return carry;
}

static uint32_t any(const uint32_t *words, uint32_t first, uint32_t end)
{
    uint32_t all = 0;
    for (; first < end; first++)
        all |= words[first];
    return all;
}

static void to_decimal(decimal *number, uint32_t bits)
{
    const uint32_t exponent = bits >> 23 & 0xFF;
    const uint32_t significand = (bits & 0x7FFFFF) | (exponent ? 0x800000u : 0);
    /* Its last bit counts 2^(exponent - 150), a subnormal's 2^-149. */
    const uint32_t place = 32 * FRACTION_WORDS - 150 + (exponent ? exponent : 1);
    uint32_t words[WORDS + 1] = {0};
    const uint64_t shifted = (uint64_t)significand << (place & 31);
    words[place >> 5] = (uint32_t)shifted;
    words[(place >> 5) + 1] = (uint32_t)(shifted >> 32);
    for (uint32_t i = 0; i < DIGITS; i++)
        number->digits[i] = 0;
    for (uint32_t i = POINT - 1; any(words, FRACTION_WORDS, WORDS); i--) {
        uint32_t digit = 0;
        divide_by_ten(words, &digit);
        number->digits[i] = (uint8_t)digit;
    }
    for (uint32_t i = POINT; i < DIGITS && any(words, 0, FRACTION_WORDS); i++)
        number->digits[i] = (uint8_t)times_ten(words);
}

/* Round half to even at `end`, keeping the digits before it. */
static void round_at(decimal *number, uint32_t end)
{
    if (end >= DIGITS)
        return;
    uint8_t *const digits = number->digits;
    uint32_t rest = 0;
    for (uint32_t i = end + 1; i < DIGITS; i++)
        rest |= digits[i];
    const uint32_t up = digits[end] > 5 || (digits[end] == 5 && (rest || (digits[end - 1] & 1)));
    for (uint32_t i = end; i < DIGITS; i++)
        digits[i] = 0;
    if (!up)
        return;
    uint32_t i = end - 1;
    while (digits[i] == 9)
        digits[i--] = 0;
    digits[i] += 1;
}

static uint32_t first_digit(const decimal *number, uint32_t otherwise)
{
    for (uint32_t i = 0; i < DIGITS; i++)
        if (number->digits[i])
            return i;
    return otherwise;
}

/* `count` digits from `from` on, and a point before the one at `point`. */
static uint32_t write_digits(char *text, const decimal *number, uint32_t from, uint32_t count, uint32_t point)
{
    uint32_t length = 0;
    for (uint32_t i = from; i < from + count; i++) {
        if (i == point)
            text[length++] = '.';
        text[length++] = (char)('0' + (i < DIGITS ? number->digits[i] : 0));
    }
    return length;
}

static uint32_t without_zeros(const char *text, uint32_t length)
{
    while (text[length - 1] == '0')
        length--;
    return length - (text[length - 1] == '.');
}

static uint32_t write_exponent(char *text, int32_t exponent, char letter)
{
    const uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
    text[0] = letter;
    text[1] = exponent < 0 ? '-' : '+';
    text[2] = (char)('0' + size / 10);
    text[3] = (char)('0' + size % 10);
    return 4;
}

/* `letter` is e, f or g; returns the length of the text. */
static uint32_t write_number(char *text, decimal *number, char letter, uint32_t precision, uint32_t alternative,
                             char exponent_letter)
{
    const uint32_t style_g = letter == 'g';
    uint32_t first = POINT - 1;
    if (letter != 'f') {
        if (style_g)
            precision = precision ? precision - 1 : 0;
        round_at(number, first_digit(number, POINT - 1) + precision + 1);
        first = first_digit(number, POINT - 1);
        const int32_t exponent = POINT - 1 - (int32_t)first;
        if (!style_g || exponent < -4 || exponent > (int32_t)precision) {
            uint32_t length = write_digits(text, number, first, precision + 1, first + 1);
            if (style_g && !alternative && precision)
                length = without_zeros(text, length);
            if (alternative && !precision)
                text[length++] = '.';
            return length + write_exponent(text + length, exponent, exponent_letter);
        }
        precision = (uint32_t)((int32_t)precision - exponent);
    } else {
        round_at(number, POINT + precision);
    }
    first = first_digit(number, POINT - 1);
    first = first < POINT ? first : POINT - 1;
    uint32_t length = write_digits(text, number, first, POINT - first + precision, POINT);
    if (style_g && !alternative && precision)
        length = without_zeros(text, length);
    if (alternative && !precision)
        text[length++] = '.';
    return length;
}

/* %a: of the float's 24 bits the highest before the point, and six digits after it. */
static void put_hexadecimal(text_sink *sink, const text_format *format, uint32_t bits, uint32_t negative)
{
    const uint32_t capital = format->conversion == 'A';
    const char *const digits = capital ? "0123456789ABCDEF" : "0123456789abcdef";
    static const char *const prefixes[] = {"0x", "-0x", "+0x", " 0x", "0X", "-0X", "+0X", " 0X"};
    const char *const prefix = prefixes[4 * capital + (negative ? 1 : format->plus ? 2 : format->space ? 3 : 0)];
    int32_t exponent = bits ? (int32_t)(bits >> 23) - 127 : 0;
    uint32_t significand = (bits & 0x7FFFFF) << 1 | (bits >> 23 ? 1u << 24 : 0);
    if (bits && bits >> 23 == 0)
        for (exponent = -126; !(significand >> 24); exponent--)
            significand <<= 1;
    uint32_t count = format->precision < 0 ? 6 : (uint32_t)format->precision;
    count = count < MOST_PRECISION ? count : MOST_PRECISION;
    if (format->precision < 0)
        while (count && !(significand >> 4 * (6 - count) & 15))
            count--;
    else if (count < 6) {
        const uint32_t drop = 4 * (6 - count);
        significand = (significand + (1u << (drop - 1)) - 1 + (significand >> drop & 1)) >> drop << drop;
    }
    char text[MOST_PRECISION + 12];
    uint32_t length = 0;
    text[length++] = digits[significand >> 24];
    if (count || format->alternative)
        text[length++] = '.';
    for (uint32_t i = 0; i < count; i++)
        text[length++] = i < 6 ? digits[significand >> 4 * (5 - i) & 15] : '0';
    text[length++] = capital ? 'P' : 'p';
    text[length++] = exponent < 0 ? '-' : '+';
    const uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
    for (uint32_t unit = size > 99 ? 100 : size > 9 ? 10 : 1; unit; unit /= 10)
        text[length++] = (char)('0' + size / unit % 10);
    __text_field(sink, format, prefix, text, length, 0);
}

void __text_float(text_sink *sink, const text_format *format, uint32_t bits)
{
    const uint32_t capital = format->conversion < 'a';
    const char letter = (char)(format->conversion | 0x20);
    const char *const prefix = bits >> 31 ? "-" : format->plus ? "+" : format->space ? " " : "";
    bits &= 0x7FFFFFFF;
    if (bits >= 0x7F800000) {
        text_format spaces = *format;
        spaces.zeros = 0;
        const char *const lower = bits == 0x7F800000 ? "inf" : "nan";
        const char *const upper = bits == 0x7F800000 ? "INF" : "NAN";
        __text_field(sink, &spaces, prefix, capital ? upper : lower, 3, 0);
        return;
    }
    if (letter == 'a') {
        put_hexadecimal(sink, format, bits, prefix[0] == '-');
        return;
    }
    uint32_t precision = format->precision < 0 ? 6 : (uint32_t)format->precision;
    precision = precision < MOST_PRECISION ? precision : MOST_PRECISION;
    decimal number;
    char text[DIGITS + MOST_PRECISION + 8];
    to_decimal(&number, bits);
    const uint32_t length = write_number(text, &number, letter, precision, format->alternative, capital ? 'E' : 'e');
    __text_field(sink, format, prefix, text, length, 0);
}
