#include "plain.h"

static int leap(uint32_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

static void plain(uint32_t index, uint32_t *out)
{
    static const uint8_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint32_t days = index * 523 + 59, year = 1970, month;
    for (;; year++) {
        const uint32_t length = leap(year) ? 366 : 365;
        if (days < length)
            break;
        days -= length;
    }
    for (month = 0; month < 12; month++) {
        uint32_t length = lengths[month];
        if (month == 1 && leap(year))
            length = 29;
        if (days < length)
            break;
        days -= length;
    }
    out[0] = year;
    out[1] = month + 1;
    out[2] = days + 1;
}
