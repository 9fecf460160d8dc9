"""The pure middle: no await, no clock, no randomness, no input or output."""
