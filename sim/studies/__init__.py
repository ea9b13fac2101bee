"""Many runs, and what follows from them."""
