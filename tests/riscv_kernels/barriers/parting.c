/* Barriers that lanes of a warp do not reach together, each but for some inputs: they have to be refused (see shapes.c). */

SHAPE(turns_of_lane) { int s = 0; for (int j = 0; j < l; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(turns_from_memory) { int s = 0; for (int j = 0; j < (in[l] & 7); j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(from_lane_to_argument) { int s = 0; for (int j = l; j < n; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(by_size_to_argument) { int s = 0; for (int j = l; j < 4 * n; j += size) { BARRIER; s += t[j]; } return s; }
SHAPE(to_twice_the_lane) { int s = 0; for (int j = l; j != 2 * l; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(pointer_to_one_end) { int s = 0; for (LOCAL int *p = t + l; p != t + 8; p++) { BARRIER; s += *p; } return s; }
SHAPE(pointer_to_end_of_lane) { int s = 0; for (LOCAL int *p = t; p != t + l; p++) { BARRIER; s += *p; } return s; }
SHAPE(pointer_less_than_end) { int s = 0; for (LOCAL int *p = t + l; p < t + n; p++) { BARRIER; s += *p; } return s; }
SHAPE(step_of_lane) { int s = 0; LOCAL int *p = t; for (int j = l; j != l + 12 * (l + 1); j += l + 1, p++) { BARRIER; s += *p; } for (int j = 0; j != 12; j += l + 1) { BARRIER; s += j; } return s; }
SHAPE(other_ends) { int s = 0; LOCAL int *p = l < 2 ? t : t + 4, *e = (l & 1 ? t : t + 4) + n; for (; p != e; p++) { BARRIER; s += *p; } return s; }
SHAPE(some_go_on_faster) { int s = 0; LOCAL int *p = t + l, *e = p + 8; for (; p != e; p++) { BARRIER; s += *p; if (*p & 1) { p++; s++; if (p == e) break; } } return s; }
SHAPE(some_end_earlier) { int s = 0; LOCAL int *p = t + l, *e = p + 8; if (in[l] > 7) { s = 3; e--; in[l] == 9 ? s++ : s--; } for (; p != e; p++) { BARRIER; s += *p; } return s; }
SHAPE(end_moves) { int s = 0; int e = l + 4; for (int j = l; j != e; j++) { BARRIER; s += t[j]; if (s & 1) e = l + 6; } return s; }
SHAPE(counted_apart) { int s = 0, k = 0; while (k < 9 && (in[l + k] & 3)) k++; for (int j = 0; j < k; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(pointer_moved_apart) { int s = 0; LOCAL int *p = t + l, *e = p + 12; while (p != e && *p < 40) p++; for (; p != e; p++) { BARRIER; s += *p; } return s; }
SHAPE(remainder_of_two_loops) { int s = 0, j = l; const int e = l + 9; for (; j != e; j++) if (t[j] > 30) break; while (j != e) { BARRIER; s += t[j]; j++; } return s; }
SHAPE(break_of_lane) { int s = 0; for (int j = 0; j < n; j++) { BARRIER; s += t[l + j]; if (s > 60) break; } return s; }
SHAPE(skipped_by_lane) { int s = 0; for (int j = 0; j < n; j++) { if (t[l + j] & 1) continue; BARRIER; s += t[l + j]; } return s; }
SHAPE(returned_by_lane) { int s = 0; for (int j = 0; j < n; j++) { if (s > 50) return s; BARRIER; s += t[l + j]; } return s; }
SHAPE(outer_of_lane) { int s = 0; for (int i = 0; i < (l & 3); i++) for (int j = 0; j < n; j++) { BARRIER; s += t[i + j]; } return s; }
SHAPE(inner_of_lane) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < (l & 3); j++) { BARRIER; s += t[i + j]; } return s; }
SHAPE(half_of_lanes) { int s = 0; if (l & 1) for (int j = 0; j < n; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(switch_of_lane) { int s = 0; for (int j = 0; j < n; j++) switch (t[l + j] & 3) { case 0: s++; break; case 1: BARRIER; s += t[j]; break; default: s += 2; } return s; }
SHAPE(halves_of_lane) { int s = 0; for (int k = l; k > 0; k >>= 1) { BARRIER; s += t[k]; } return s; }
SHAPE(times_lane) { int s = 0; for (int k = 1; k < 40; k *= l + 2) { BARRIER; s += t[k]; } return s; }
SHAPE(float_of_lane) { int s = 0; for (float f = (float)l; f < 6.5f; f += 1) { BARRIER; s += t[(int)f]; } return s; }
SHAPE(flag_of_lane) { int s = 0, more = 1, j = 0; while (more) { BARRIER; s += t[l + j]; if (s > 50 || ++j == n) more = 0; } return s; }
SHAPE(called_in_half) { int s = 0; for (int j = 0; j < n; j++) if (l > j) s += meet_apart(t, l + j); return s; }
SHAPE(count_for_helper) { return added(t, l, l & 3); }
SHAPE(bound_from_helper) { int s = 0; for (int j = 0; j < doubled(l); j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(bound_in_private_array) { int e[4], s = 0; for (int j = 0; j < 4; j++) e[j] = in[l + j] & 3; for (int j = 0; j < e[n & 3]; j++) { BARRIER; s += t[l + j]; } return s; }
SHAPE(swapped_by_lane) { int s = 0; LOCAL int *p = t + l, *e = p + 6; if (l & 2) { s = in[l]; LOCAL int *x = p; p = e - s % 3; e = x + 12; } for (; p != e; p++) { BARRIER; s += *p; } return s; }
SHAPE(merged_of_lane) { int s = l; int i = l; do { while (s & 1) s /= 2; BARRIER; s += t[l + i]; } while (++i < n); return s; }
SHAPE(volatile_of_lane) { int s = 0; volatile int m = l; for (int j = 0; j < m; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(rows_of_lane) { int s = 0; for (int j = l * n; j < l * (n + l); j++) { BARRIER; s += t[j & 63]; } return s; }
SHAPE(rows_of_memory) { int s = 0; const int k = in[l] & 3; for (int j = l * k; j < (l + 1) * k; j++) { BARRIER; s += t[j]; } return s; }
SHAPE(rows_counted_apart) { int s = 0, k = 0; while (k < 9 && (in[l + k] & 3)) k++; for (int j = l * k; j != (l + 1) * k; j++) { BARRIER; s += t[j & 63]; } return s; }
SHAPE(rows_of_two_widths) { int s = 0, m = n; const int from = l * m; if (t[l] & 1) { m++; s = doubled(m); } for (int j = from; j != (l + 1) * m; j++) { BARRIER; s += t[j & 63]; } return s; }
SHAPE(rows_swapped) { int s = 0, a = l * n, e = (l + 1) * n; if (t[l] > 7) { s = doubled(a); a = e; } for (; a != e; a++) { BARRIER; s += t[a & 63]; } return s; }
SHAPE(table_of_lane) { int s = 0; for (int j = 0; j < turns[l & 3]; j++) { BARRIER; s += t[l + j]; } return s; }
