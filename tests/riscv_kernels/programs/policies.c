/* Parameters of the policies, as metronome.h writes them; what mpolicy reads behind each write. */
#include "metronome.h"

typedef struct {
    uint32_t *results;
    uint32_t value;
} arguments;

#define MPOLICY() SIMT_CSR_READ(CSR_MPOLICY)

int main(void)
{
    const arguments *const args = kernel_arguments();
    uint32_t *const results = args->results;
    results[0] = MPOLICY();
    policy_set(POLICY_GROUP_WARPS, 2);
    results[1] = MPOLICY();
    policy_set(POLICY_LOCALITY_BASE, args->value);
    results[2] = MPOLICY();
    policy_set(POLICY_LOCALITY_THROTTLE, args->value << 16 | 1);
    results[3] = MPOLICY();
    policy_set(POLICY_FRAME, 256);
    results[4] = MPOLICY();
    policy_slot(args->value, 63);
    results[5] = MPOLICY();
    policy_slot(256, 1);
    results[6] = MPOLICY();
    return 0;
}
