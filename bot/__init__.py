"""Troupe: personas that role-play on Discord and remember."""
