/* stdio.h, but for puts.c and the digits of floats (format_float.c). */
#include "stdio.h"

#include "format.h"
#include "metronome.h"
#include "names.h"

#define LENGTH_LONG_LONG 2
/* hl, of the elements of a vector: 32 bits. */
#define LENGTH_HALF_LONG 1

/* How much longer than an int one l means. The long of OpenCL C has 64 bits: opencl/launch.c has another of this name. */
extern const int32_t __printf_long;
__attribute__((weak)) const int32_t __printf_long = 1;

void __text_put(text_sink *sink, char character)
{
    if (!sink->target)
        ((volatile char *)MEMORY_CONSOLE)[simt_warp_id() % MEMORY_CONSOLE_BYTES] = character;
    else if (sink->count < sink->room)
        sink->target[sink->count] = character;
    sink->count += 1;
}

static void repeat(text_sink *sink, char character, int32_t times)
{
    for (; times > 0; times--)
        __text_put(sink, character);
}

void __text_field(text_sink *sink, const text_format *format, const char *prefix, const char *text, uint32_t length,
                  uint32_t zeros)
{
    uint32_t before = 0;
    while (prefix[before])
        before++;
    const int32_t missing = format->width - (int32_t)(before + zeros + length);
    if (!format->left && !format->zeros)
        repeat(sink, ' ', missing);
    for (uint32_t i = 0; i < before; i++)
        __text_put(sink, prefix[i]);
    repeat(sink, '0', (int32_t)zeros + (!format->left && format->zeros ? (missing > 0 ? missing : 0) : 0));
    for (uint32_t i = 0; i < length; i++)
        __text_put(sink, text[i]);
    if (format->left)
        repeat(sink, ' ', missing);
}

static void put_integer(text_sink *sink, text_format *format, uint64_t value, uint32_t negative)
{
    const char conversion = format->conversion;
    const uint32_t base = conversion == 'o' ? 8 : conversion == 'x' || conversion == 'X' || conversion == 'p' ? 16 : 10;
    const char *const digits = conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[24];
    uint32_t place = sizeof text;
    const uint32_t is_zero = value == 0;
    while (value >> 32) {
        text[--place] = digits[value % base];
        value /= base;
    }
    for (uint32_t rest = (uint32_t)value; rest; rest /= base)
        text[--place] = digits[rest % base];
    const uint32_t length = sizeof text - place;
    const uint32_t least = format->precision < 0 ? 1 : (uint32_t)format->precision;
    uint32_t zeros = length < least ? least - length : 0;
    const char *prefix = "";
    if (conversion == 'd' || conversion == 'i')
        prefix = negative ? "-" : format->plus ? "+" : format->space ? " " : "";
    else if (conversion == 'p' || (format->alternative && base == 16 && !is_zero))
        prefix = conversion == 'X' ? "0X" : "0x";
    else if (format->alternative && base == 8 && zeros == 0)
        zeros = 1;
    if (format->precision >= 0)
        format->zeros = 0;
    __text_field(sink, format, prefix, text + place, length, zeros);
}

static void put_string(text_sink *sink, text_format *format, const char *text)
{
    if (!text)
        text = "(null)";
    uint32_t length = 0;
    while ((format->precision < 0 || length < (uint32_t)format->precision) && text[length])
        length++;
    format->zeros = 0;
    __text_field(sink, format, "", text, length, 0);
}

/* A pointer to the list, so that it stays one list through all conversions. */
typedef struct {
    va_list list;
} argument_list;

static const char *parse_number(const char *at, int32_t *number, argument_list *arguments)
{
    if (*at == '*') {
        *number = va_arg(arguments->list, int);
        return at + 1;
    }
    *number = 0;
    while (*at >= '0' && *at <= '9')
        *number = *number * 10 + (*at++ - '0');
    return at;
}

static const char *parse_flags(const char *at, text_format *format)
{
    for (;; at++) {
        if (*at == '-')
            format->left = 1;
        else if (*at == '0')
            format->zeros = 1;
        else if (*at == '+')
            format->plus = 1;
        else if (*at == ' ')
            format->space = 1;
        else if (*at == '#')
            format->alternative = 1;
        else
            return at;
    }
}

/* After the %: returns the text after the conversion, and the number of l (or of h, negative) in *length. */
static const char *parse(const char *at, text_format *format, int32_t *length, argument_list *arguments)
{
    *format = (text_format){.precision = -1};
    *length = 0;
    at = parse_number(parse_flags(at, format), &format->width, arguments);
    if (format->width < 0) {
        format->left = 1;
        format->width = -format->width;
    }
    if (*at == '.')
        at = parse_number(at + 1, &format->precision, arguments);
    if (*at == 'v' && __printf_long == LENGTH_LONG_LONG)
        at = parse_number(at + 1, &format->elements, arguments);
    for (;; at++) {
        if (*at == 'l')
            *length += *length < 0 ? LENGTH_HALF_LONG - *length : __printf_long;
        else if (*at == 'L')
            format->quad = 1;
        else if (*at == 'j')
            *length = LENGTH_LONG_LONG;
        else if (*at == 'h')
            *length -= 1;
        else if (*at != 'z' && *at != 't')
            break;
    }
    format->conversion = *at;
    return *at ? at + 1 : at;
}

static void put_signed(text_sink *sink, text_format *format, int32_t length, argument_list *arguments)
{
    int64_t value = length >= LENGTH_LONG_LONG ? va_arg(arguments->list, int64_t) : va_arg(arguments->list, int32_t);
    if (length == -1)
        value = (int16_t)value;
    else if (length < -1)
        value = (int8_t)value;
    put_integer(sink, format, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

static void put_unsigned(text_sink *sink, text_format *format, int32_t length, argument_list *arguments)
{
    uint64_t value = length >= LENGTH_LONG_LONG ? va_arg(arguments->list, uint64_t) : va_arg(arguments->list, uint32_t);
    if (length == -1)
        value = (uint16_t)value;
    else if (length < -1)
        value = (uint8_t)value;
    put_integer(sink, format, value, 0);
}

/* %n: where to write how many characters there have been. */
static void put_count(text_sink *sink, int32_t length, argument_list *arguments)
{
    void *const target = va_arg(arguments->list, void *);
    if (length < -1)
        *(int8_t *)target = (int8_t)sink->count;
    else if (length == -1)
        *(int16_t *)target = (int16_t)sink->count;
    else if (length < LENGTH_LONG_LONG)
        *(int32_t *)target = (int32_t)sink->count;
    else
        *(int64_t *)target = (int64_t)sink->count;
}

/* OpenCL's %v4d: the elements with commas between them. More than 8 bytes come by their address. */
static void put_vector(text_sink *sink, text_format *format, int32_t length, argument_list *arguments)
{
    const char conversion = format->conversion;
    const uint32_t is_signed = conversion == 'd' || conversion == 'i';
    const uint32_t is_float = !is_signed && conversion != 'u' && conversion != 'x' && conversion != 'X' && conversion != 'o';
    const uint32_t size = length < -1 ? 1 : length == -1 ? 2 : length < LENGTH_LONG_LONG || is_float ? 4 : 8;
    const uint32_t bytes = size * (format->elements == 3 ? 4 : (uint32_t)format->elements);
    union {
        uint64_t whole;
        const uint8_t *address;
    } argument;
    argument.whole = bytes == 8 ? va_arg(arguments->list, uint64_t) : va_arg(arguments->list, uint32_t);
    const uint8_t *at = bytes > 8 ? argument.address : (const uint8_t *)&argument;
    const uint32_t zeros = format->zeros;
    for (int32_t i = 0; i < format->elements; i++) {
        if (i)
            __text_put(sink, ',');
        uint64_t value = 0;
        for (uint32_t byte = size; byte > 0; byte--)
            value = value << 8 | at[byte - 1];
        at += size;
        format->zeros = zeros;
        const uint32_t unused = 64 - 8 * size;
        if (is_float)
            __text_float(sink, format, (uint32_t)value);
        else if (is_signed && (int64_t)(value << unused) < 0)
            put_integer(sink, format, 0 - (uint64_t)((int64_t)(value << unused) >> unused), 1);
        else
            put_integer(sink, format, value, 0);
    }
}

static void put_conversion(text_sink *sink, text_format *format, int32_t length, argument_list *arguments,
                           const char *from, const char *to)
{
    char character;
    if (format->elements) {
        put_vector(sink, format, length, arguments);
        return;
    }
    switch (format->conversion) {
    case 'd': case 'i':
        put_signed(sink, format, length, arguments);
        break;
    case 'u': case 'x': case 'X': case 'o': case 'p':
        put_unsigned(sink, format, length, arguments);
        break;
    case 'c':
        character = (char)va_arg(arguments->list, int);
        format->zeros = 0;
        __text_field(sink, format, "", &character, 1, 0);
        break;
    case 's':
        put_string(sink, format, va_arg(arguments->list, const char *));
        break;
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
        if (format->quad)
            __text_float(sink, format, __float_of_quad(va_arg(arguments->list, long double)));
        else
            __text_float(sink, format, __float_of_double(va_arg(arguments->list, double)));
        break;
    case 'n':
        put_count(sink, length, arguments);
        break;
    case '%':
        __text_put(sink, '%');
        break;
    default: /* unknown: as it stands */
        while (from != to)
            __text_put(sink, *from++);
    }
}

static void put_all(text_sink *sink, const char *at, va_list list)
{
    argument_list arguments;
    va_copy(arguments.list, list);
    while (*at) {
        const char *const from = at;
        if (*at++ != '%') {
            __text_put(sink, *from);
            continue;
        }
        text_format format;
        int32_t length;
        at = parse(at, &format, &length, &arguments);
        put_conversion(sink, &format, length, &arguments, from, at);
    }
    va_end(arguments.list);
}

static int write_text(char *target, size_t bytes, const char *format, va_list arguments)
{
    char nowhere;
    text_sink sink;
    SIMT_ONE_BY_ONE {
        sink = (text_sink){bytes ? target : &nowhere, bytes ? bytes - 1 : 0, 0};
        put_all(&sink, format, arguments);
        if (bytes)
            target[sink.count < sink.room ? sink.count : sink.room] = 0;
    } SIMT_ENDONE
    return (int)sink.count;
}

static int write_console(const char *format, va_list arguments)
{
    text_sink sink;
    SIMT_ONE_BY_ONE {
        sink = (text_sink){0, 0, 0};
        put_all(&sink, format, arguments);
    } SIMT_ENDONE
    return (int)sink.count;
}

WEAK int vsnprintf(char *target, size_t bytes, const char *format, va_list arguments)
{
    return write_text(target, bytes, format, arguments);
}

WEAK int vprintf(const char *format, va_list arguments) { return write_console(format, arguments); }

WEAK int snprintf(char *target, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int count = write_text(target, bytes, format, arguments);
    va_end(arguments);
    return count;
}

WEAK int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int count = write_console(format, arguments);
    va_end(arguments);
    return count;
}

RESERVED_NAME(printf);
