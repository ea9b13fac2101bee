"""Instruction words from Python, and back."""
