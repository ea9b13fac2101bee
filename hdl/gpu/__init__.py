"""A GPU: several SMs that share one memory port."""
