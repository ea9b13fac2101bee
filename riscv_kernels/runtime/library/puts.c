/* puts, putchar (stdio.h). */
#include "stdio.h"

#include "format.h"
#include "metronome.h"
#include "names.h"

WEAK int puts(const char *text)
{
    text_sink sink;
    SIMT_ONE_BY_ONE {
        sink = (text_sink){0, 0, 0};
        while (*text)
            __text_put(&sink, *text++);
        __text_put(&sink, '\n');
    } SIMT_ENDONE
    return (int)sink.count;
}

WEAK int putchar(int character)
{
    text_sink sink;
    SIMT_ONE_BY_ONE {
        sink = (text_sink){0, 0, 0};
        __text_put(&sink, (char)character);
    } SIMT_ENDONE
    return (unsigned char)character;
}
