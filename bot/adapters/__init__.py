"""One outside thing each."""
