/* Loops with barriers that all work-items of a group leave together, in C and in OpenCL C (dialects.h).
 *
 * Each SHAPE returns what its work-item stores. `in` has 64 words, `t` is local memory with 64 words that are set, n is
 * an argument of the kernel (5), l the work-item's number in its group of `size`, g the group's number of `groups`.
 */

SHAPE(three_turns) { int s = 0; for (int j = 0; j < 3; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(argument) { int s = 0; for (int j = 0; j < n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(masked_index) { int s = 0; for (int j = 0; j < n; j++) { BARRIER; s += t[(l + j) & 7]; } return s; }
SHAPE(down) { int s = 0; for (int j = n; j > 0; j--) { BARRIER; s = t[l + j] - s; } return s; }
SHAPE(down_to_zero) { int s = 0; for (int j = n; j >= 0; --j) { BARRIER; s = -s + t[l + j]; } return s; }
SHAPE(step_of_two) { int s = 0; for (int j = 0; j < n; j += 2) { BARRIER; s += t[l + j]; } return s; }
SHAPE(step_of_argument) { int s = 0; for (int j = 0; j < 30; j += n) { BARRIER; s += t[l + j]; } return s; }
SHAPE(at_most) { int s = 0; for (int j = 1; j <= n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(not_equal) { int s = 0; for (int j = 0; j != n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(unsigned_counter) { int s = 0; for (unsigned j = 0; j < (unsigned)n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(wide_counter) { int s = 0; for (INT64 j = 0; j < n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(wide_bound) { int s = 0; const INT64 m = (INT64)n * 3 >> 1; for (INT64 j = 0; j < m; j++) { BARRIER; s += t[l + (int)j]; } return s; }
SHAPE(short_counter) { int s = 0; for (short j = 0; j < n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(byte_counter) { int s = 0; for (unsigned char j = 0; j < n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(float_counter) { int s = 0; for (float f = 0; f < 3.5f; f += 1) { BARRIER; s += t[l + (int)f]; } return s; }
SHAPE(float_bound) { int s = 0; for (float f = 0; f < (float)n; f += 0.5f) { BARRIER; s += t[l + (int)f]; } return s; }
SHAPE(pointer_end) { int s = 0; for (LOCAL int *p = t + l; p != t + l + 3; p++) { BARRIER; s += *p; } return s; }
SHAPE(pointer_end_argument) { int s = 0; for (LOCAL int *p = t + l, *e = p + n; p != e; p++) { BARRIER; s += *p; } return s; }
SHAPE(pointer_down) { int s = 0; for (LOCAL int *p = t + l + n; p != t + l; p--) { BARRIER; s = -s + *p; } return s; }
SHAPE(pointer_stride) { int s = 0; GLOBAL const int *e = in + l + n * size; for (GLOBAL const int *p = in + l; p != e; p += size) { BARRIER; s += *p; } return s; }
SHAPE(from_lane) { int s = 0; for (int j = l; j < l + 3; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(from_lane_argument) { int s = 0; for (int j = l; j < l + n; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(from_lane_not_equal) { int s = 0; for (int j = l; j != l + n; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(from_lane_times) { int s = 0; for (int j = 4 * l; j < 4 * l + 4; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(while_loop) { int s = 0, j = 0; while (j < n) { BARRIER; s += t[l + j]; j++; } return s; }
SHAPE(do_loop) { int s = 0, j = 0; do { BARRIER; s += t[l + j]; } while (++j < n); return s; }
SHAPE(endless_break) { int s = 0; for (int j = 0;; j++) { if (j == n) break; BARRIER; s += t[l + j]; } return s; }
SHAPE(break_inside) { int s = 0; for (int j = 0; j < 8; j++) { s += t[l + j]; if (j == n) break; BARRIER; s += t[l + j + 1]; } return s; }
SHAPE(break_on_data) { int s = 0; for (int j = 0; j < 8; j++) { BARRIER; s += t[l + j]; if (in[j] == in[n]) break; } return s; }
SHAPE(break_on_local) { int s = 0; for (int j = 0; j < 8; j++) { BARRIER; s += t[l + j]; if (t[j + 32] == t[37]) break; } return s; }
SHAPE(go_on) { int s = 0; for (int j = 0; j < 8; j++) { if (j & n & 1) continue; BARRIER; s += t[l + j]; } return s; }
SHAPE(early_return) { int s = 0; if (n < 2) return 7; for (int j = 0; j < n; j++) { BARRIER; s += t[l + j]; if (n == 9) return s; } return s; }
SHAPE(backwards_goto) { int s = 0, j = 0; again: BARRIER; s += t[l + j]; if (++j < n) goto again; return s; }
SHAPE(two_conditions) { int s = 0; for (int j = 0; j < n && in[j] != in[3]; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(either_condition) { int s = 0; for (int j = 0; j < n || in[j] == in[6]; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(two_counters) { int s = 0; for (int i = 0, j = n; i < j; i++, j--) { BARRIER; s += t[l + i] * t[l + j]; } return s; }
SHAPE(two_barriers) { int s = 0; for (int j = 0; j < n; j++) { BARRIER; s += t[(l + j) & 7]; BARRIER; t[l] = s + j; } return s; }
SHAPE(two_loops)
{
    int s = 0;
    for (int j = 0; j < 3; j++) { BARRIER; s += t[l + j]; }
    for (int j = 0; j < n; j++) { BARRIER; s = t[l + j] - s; }
    return s;
}
SHAPE(nested) { int s = 0; for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) { BARRIER; s = -s + t[l + 4 * i + j]; } return s; }
SHAPE(nested_arguments) { int s = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { BARRIER; s = -s + t[l + n * i + j]; } BARRIER; } return s; }
SHAPE(triangle) { int s = 0; for (int i = 0; i < n; i++) for (int j = i; j < n; j++) { BARRIER; s = -s + t[l + i] + t[l + j]; } return s; }
SHAPE(barrier_outside_inner) { int s = 0; for (int i = 0; i < n; i++) { BARRIER; for (int j = 0; j < 4; j++) s += t[l + i + j]; } return s; }
SHAPE(inner_of_lane) { int s = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < l; j++) s += t[i + j]; BARRIER; s += t[l + i]; } return s; }
SHAPE(merged_loops) { int s = 0; for (int i = 0; i < n; i++) { while (s & 3) s /= 2; BARRIER; s += t[l + i] + 1; } return s; }
SHAPE(merged_do) { int s = l; for (int i = g; i < n; i++) { int k = 6; do s = (5 * s & 255) + l + 1; while ((s & 2) && --k); BARRIER; s += t[l + i]; } return s; }
SHAPE(merged_three) { int s = l; int i = 0; do { int j = 0; do { while (s & 1) s /= 2; BARRIER; s += t[l + j]; } while (++j < n); } while (++i < 3); return s; }
SHAPE(lanes_part) { int s = 0; for (int j = 0; j < n; j++) { if (l & 1) s += t[l + j]; else s ^= t[j]; BARRIER; } return s; }
SHAPE(part_of_lanes) { int s = 0; for (int j = 0; j < n; j++) { if (l < 3) s += t[l + j]; BARRIER; } return s; }
SHAPE(one_lane_writes) { int s = 0; for (int j = 0; j < n; j++) { if (l == 0) t[40] = j * n; BARRIER; s = -s + t[40]; BARRIER; } return s; }
SHAPE(condition_of_lane_and_turn) { int s = 0; for (int j = 0; j < n; j++) { if (l == j) t[40] = s + j; BARRIER; s += t[40] + l; BARRIER; } return s; }
SHAPE(tree)
{
    for (int k = size / 2; k > 0; k >>= 1) { if (l < k) t[l] += t[l + k]; BARRIER; }
    return t[0];
}
SHAPE(tree_by_halves)
{
    for (int k = size / 2; k; k /= 2) { if (l < k) t[l] += t[l + k]; BARRIER; }
    return t[0];
}
SHAPE(tree_interleaved)
{
    for (int k = 1; k < size; k *= 2) { if (l % (2 * k) == 0) t[l] += t[l + k]; BARRIER; }
    return t[0];
}
SHAPE(tree_strided)
{
    for (int k = 1; k < size; k *= 2) { const int i = 2 * k * l; if (i < size) t[i] += t[i + k]; BARRIER; }
    return t[0];
}
SHAPE(tree_constant)
{
    for (unsigned k = 4; k > 0; k >>= 1) { if ((unsigned)l < k) t[l] += t[l + k]; BARRIER; }
    return t[0];
}
SHAPE(scan)
{
    for (int k = 1; k < size; k <<= 1) {
        int add = 0;
        if (l >= k) add = t[l - k];
        BARRIER;
        t[l] += add;
        BARRIER;
    }
    return t[l];
}
SHAPE(scan_of_two_halves)
{
    int from = 0, to = 32;
    for (int k = 1; k < size; k <<= 1) {
        to = 32 - to; from = 32 - from;
        BARRIER;
        t[to + l] = l >= k ? t[from + l] + t[from + l - k] : t[from + l];
        BARRIER;
    }
    return t[l];
}
SHAPE(scan_up_and_down)
{
    int k = 1;
    for (int d = size >> 1; d > 0; d >>= 1) {
        BARRIER;
        if (l < d) t[k * (2 * l + 2) - 1] += t[k * (2 * l + 1) - 1];
        k *= 2;
    }
    if (l == 0) t[size - 1] = 0;
    for (int d = 1; d < size; d *= 2) {
        k >>= 1;
        BARRIER;
        if (l < d) {
            const int a = k * (2 * l + 1) - 1, b = k * (2 * l + 2) - 1, x = t[a];
            t[a] = t[b];
            t[b] += x;
        }
    }
    BARRIER;
    return t[l];
}
SHAPE(powers_of_three) { int s = 0; for (int k = 1; k < 40; k *= 3) { BARRIER; s += t[l + k]; } return s; }
SHAPE(bits) { int s = 0; for (int k = n; k; k &= k - 1) { BARRIER; s = -s + t[l + k]; } return s; }
SHAPE(euclid) { int s = 0, a = 21, b = n; while (b) { const int c = a % b; a = b; b = c; BARRIER; s += t[l + a]; } return s; }
SHAPE(collatz) { int s = 0; for (int k = n; k != 1; k = k & 1 ? 3 * k + 1 : k / 2) { BARRIER; s = -s + t[l + k]; } return s; }
SHAPE(tiles)
{
    int s = 0;
    for (int k = 0; k < 4; k++) {
        BARRIER;
        t[l] = in[k * size + l];
        BARRIER;
        for (int i = 0; i < 8; i++) s += t[i] * in[l + i];
    }
    return s;
}
SHAPE(tiles_by_step)
{
    int s = 0;
    const int first = g * n, last = first + 19, step = 8;
    for (int a = first, b = l; a <= last; a += step, b += 2 * step) {
        t[l] = in[a + l];
        t[l + 8] = in[b];
        BARRIER;
        for (int k = 0; k < 8; k++) s += t[k] * t[k + 8] + l;
        BARRIER;
    }
    return s;
}
SHAPE(tiles_rounded_up)
{
    int s = 0;
    for (int k = 0; k < (n * 4 + size - 1) / size; k++) {
        const int i = k * size + l;
        t[l] = i < n * 4 ? in[i] : 0;
        BARRIER;
        for (int i = 0; i < size; i++) s += t[i] ^ l;
        BARRIER;
    }
    return s;
}
SHAPE(groups_by_turns) { int s = 0; for (int j = g; j < 9; j += groups) { BARRIER; s += t[l + j]; } return s; }
SHAPE(size_and_groups) { int s = 0; for (int j = 0; j < size * groups; j += size) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_from_table) { int s = 0; for (int j = 0; j < turns[n & 3]; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_from_input) { int s = 0; for (int j = 0; j < (in[g] & 7); j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bounds_of_a_row) { int s = 0; for (int j = in[g] & 3; j < (in[g + 1] & 3) + 4; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_from_local) { int s = 0; const int m = t[40] & 7; for (int j = 0; j < m; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_is_minimum) { int s = 0; const int m = n < size ? n : size; for (int j = 0; j < m; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_is_selected) { int s = 0; const int m = n & 1 ? g + 2 : in[3] & 3; for (int j = 0; j < m; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_is_divided) { int s = 0; for (int j = 0; j < 37 / n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_changes) { int s = 0, m = 2; for (int j = 0; j < m; j++) { BARRIER; s += t[l + j]; if (m < n) m++; } return s; }
SHAPE(until_nothing_changes)
{
    int turns = 0;
    do {
        BARRIER;
        if (l == 0) t[40] = 0;
        BARRIER;
        const int a = t[l], b = t[l + 1];
        BARRIER;
        if (a > b && l < 6) { t[l] = b; t[40] = 1; }
        BARRIER;
        turns++;
    } while (t[40] && turns < 9);
    return t[l] + turns;
}
SHAPE(flag) { int s = 0, more = 1, j = 0; while (more) { BARRIER; s += t[l + j]; if (++j == n) more = 0; } return s; }
SHAPE(condition_around) { int s = 0; if (n > 3) for (int j = 0; j < n; j++) { BARRIER; s += t[l + j]; } else { BARRIER; s = t[l]; } return s; }
SHAPE(condition_inside) { int s = 0; for (int j = 0; j < 6; j++) { if (n > 3) { BARRIER; s += t[l + j]; } else s += l; } return s; }
SHAPE(switch_inside)
{
    int s = 0;
    for (int j = 0; j < 7; j++)
        switch ((j + n) & 3) {
        case 0: BARRIER; s += t[l + j]; break;
        case 1: s ^= t[l]; /* fall through */
        case 2: BARRIER; s += 2 * t[l + j]; break;
        default: s++;
        }
    return s;
}
SHAPE(buffers_change_places)
{
    LOCAL int *a = t, *b = t + 16;
    for (int j = 0; j < n; j++) {
        BARRIER;
        b[l] = a[(l + 1) & 7] + j;
        LOCAL int *const c = a; a = b; b = c;
    }
    BARRIER;
    return a[l];
}
SHAPE(buffer_by_number) { int k = 0; for (int j = 0; j < n; j++) { BARRIER; t[16 * (k ^ 1) + l] = t[16 * k + ((l + 1) & 7)] + j; k ^= 1; } BARRIER; return t[16 * k + l]; }
SHAPE(source_by_argument) { int s = 0; GLOBAL const int *p = n & 1 ? in + 2 : in + 9; for (int j = 0; j < n; j++) { BARRIER; s += p[l + j]; } return s; }
SHAPE(pointer_by_lane) { int s = 0; LOCAL int *p = l & 1 ? t : t + 5; for (int j = 0; j < n; j++) { BARRIER; s = -s + p[j]; } return s; }
SHAPE(pointer_from_memory) { int s = 0; LOCAL int *p = t + (in[l] & 15); for (int j = 0; j < 4; j++) { BARRIER; s = -s + p[j]; } return s; }
SHAPE(pointers_of_two) { int s = 0; GLOBAL const int *p = in + 2 * l; LOCAL int *q = t + l; for (int j = 0; j < n; j++) { BARRIER; s += p[j] * q[2 * j]; } return s; }
SHAPE(column) { int s = 0; for (int j = 0; j < n; j++) { BARRIER; s += in[j * size + l] * t[l * 4 + j]; } return s; }
SHAPE(private_array) { int part[4] = {0, 0, 0, 0}; for (int j = 0; j < 8; j++) { BARRIER; part[j & 3] += t[l + j]; } return part[0] + 3 * part[1] + 5 * part[2] + 7 * part[3]; }
SHAPE(private_array_of_lane) { int part[4] = {0, 0, 0, 0}; for (int j = 0; j < n; j++) { BARRIER; part[(l + j) & 3] += t[l + j]; } return part[0] + 3 * part[1] + 5 * part[2] + 7 * part[3]; }
SHAPE(private_queue) { int q[8], s = 0; for (int j = 0; j < 8; j++) q[j] = t[l + j]; for (int j = 0; j < n; j++) { BARRIER; s += q[j] * t[j]; } return s; }
SHAPE(structure) { struct { int at, end, sum; } r = {0, n, 0}; while (r.at < r.end) { BARRIER; r.sum += t[l + r.at]; r.at++; } return r.sum; }
SHAPE(odd_even_sort)
{
    for (int j = 0; j < size; j++) {
        const int i = 2 * l + (j & 1);
        if (i + 1 < 8 && t[i] > t[i + 1]) { const int x = t[i]; t[i] = t[i + 1]; t[i + 1] = x; }
        BARRIER;
    }
    return t[l];
}
SHAPE(bitonic_sort)
{
    for (int k = 2; k <= size; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            const int other = l ^ j;
            if (other > l && (l & k ? t[l] < t[other] : t[l] > t[other])) { const int x = t[l]; t[l] = t[other]; t[other] = x; }
            BARRIER;
        }
    return t[l];
}
SHAPE(elimination)
{
    for (int k = 0; k < 7; k++) {
        if (l > k) t[l] = t[l] * 3 - t[k];
        BARRIER;
        for (int j = k + 1; j < 8; j++) if (l == j) t[j] += k;
        BARRIER;
    }
    return t[l];
}
SHAPE(time_steps)
{
    for (int j = 0; j < n; j++) {
        const int left = l > 0 ? t[l - 1] : t[l], right = l + 1 < size ? t[l + 1] : t[l];
        BARRIER;
        t[l] = (left + 2 * t[l] + right) / 4;
        BARRIER;
    }
    return t[l];
}
SHAPE(inlined_helper) { int s = 0; for (int j = 0; j < n; j++) s += meet(t, l + j); return s; }
SHAPE(called_helper) { int s = 0; for (int j = 0; j < n; j++) s += meet_apart(t, l + j); return s; }
SHAPE(helper_with_loop) { return added(t, l, n) + 3 * added(t, l + 1, 3); }
SHAPE(helper_called_in_loop) { int s = 0; for (int j = 0; j < 3; j++) s = -s + added(t, l + j, n - j); return s; }
SHAPE(helper_gives_bound) { int s = 0; for (int j = 0; j < doubled(n); j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(helper_of_lane_beside) { int s = 0; for (int j = 0; j < n; j++) { BARRIER; s += halved(t[l + j]); } return s; }
SHAPE(unrolled)
{
    int s = 0;
    PRAGMA_UNROLL
    for (int j = 0; j < 4; j++) { BARRIER; s += t[l + j]; }
    return s;
}
SHAPE(unrolled_by_two)
{
    int s = 0;
    PRAGMA_UNROLL_2
    for (int j = 0; j < n; j++) { BARRIER; s += t[l + j]; }
    return s;
}
SHAPE(many_values)
{
    unsigned a = t[l], b = t[l + 1], c = t[l + 2], d = t[l + 3], e = t[l + 4], f = t[l + 5], h = t[l + 6], i = t[l + 7];
    unsigned k = in[l], m = in[l + 1], o = in[l + 2], p = in[l + 3], q = in[l + 4], r = in[l + 5];
    for (int j = 0; j < n; j++) {
        BARRIER;
        a += b ^ t[l + j]; b += c * in[j]; c ^= d + t[l + 2 * j]; d += e * in[l + j]; e ^= f; f += h * j; h += i; i ^= k;
        k += m * a; m ^= o; o += p * t[j]; p ^= q; q += r; r ^= a + size;
    }
    return a + 3 * b + 5 * c + 7 * d + 9 * e + 11 * f + 13 * h + 15 * i + 17 * k + 19 * m + 21 * o + 23 * p + 25 * q + 27 * r;
}
SHAPE(rows) { int s = 0; for (int j = l * n; j < (l + 1) * n; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(rows_of_rows) { int s = 0; const int k = (l >> 1) * n + (l & 1), m = n * (n - 3); for (int j = n * k; j != n * k + m; j++) { BARRIER; s += t[j & 63]; } return s; }
SHAPE(rows_of_pointer) { int s = 0; LOCAL int *p = t + l * n, *e = t + (l + 1) * n; for (; p != e; p++) { BARRIER; s += *p; } return s; }
SHAPE(turned) { int s = 0; const int at = (l >> 1) * n + (l & 1); for (int j = 0; j < n; j++) { BARRIER; s += t[(at + j) % size]; BARRIER; t[l] = s; } return s; }
SHAPE(size_after_call) { int s = t[(l + size) & 31]; if (s > 3) s += (int)((INT64)((float)s * 1.5f) >> 1); for (int j = 0; j < size; j += 2) { BARRIER; s += t[l + j]; } return s; }
