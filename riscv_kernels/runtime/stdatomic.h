/* The machine has no atomic operations between warps, so this header refuses at once. */
#error "not supported: atomic operations; for lanes of a warp SIMT_ONE_BY_ONE, for a block block_sum() (metronome.h)"
