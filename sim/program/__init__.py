"""From C source to what is in memory when a program starts."""
