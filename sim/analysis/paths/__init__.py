"""Abstract execution of all paths of all warps."""
