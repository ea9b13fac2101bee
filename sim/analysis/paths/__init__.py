"""Abstract execution: all paths of a warp, and what is known on each."""
