/* logf, log2f, log10f (math.h). */
#include "math.h"

#include "log.h"

WEAK float logf(float x) { return log_inline(x); }
WEAK float log2f(float x) { return log_to_base(x, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.0f, 0.0f); }
WEAK float log10f(float x) { return log_to_base(x, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344p-2f, 0x1.3509f8p-18f); }

RESERVED_NAME(logf);
RESERVED_NAME(log2f);
RESERVED_NAME(log10f);
