#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    float m[4][4], result = 1;
    uint32_t state = index, swaps = 0;
    const int n = 2 + (int)(index % 3);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            m[i][j] = (float)((int)(draw(&state) % 7) - 3);
    for (int column = 0; column < n; column++) {
        int pivot = column;
        for (int i = column + 1; i < n; i++)
            if (__builtin_fabsf(m[i][column]) > __builtin_fabsf(m[pivot][column]))
                pivot = i;
        if (m[pivot][column] == 0.0f) {
            result = 0;
            break;
        }
        if (pivot != column) {
            for (int j = 0; j < n; j++) {
                const float kept = m[pivot][j];
                m[pivot][j] = m[column][j];
                m[column][j] = kept;
            }
            result = -result;
            swaps++;
        }
        result = result * m[column][column];
        for (int i = column + 1; i < n; i++) {
            const float factor = m[i][column] / m[column][column];
            for (int j = column; j < n; j++) {
                const float product = factor * m[column][j];
                m[i][j] = m[i][j] - product;
            }
        }
    }
    out[0] = float_bits(result);
    out[1] = swaps;
}
