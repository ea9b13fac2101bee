"""Reference models of the warp policies, one class each."""
