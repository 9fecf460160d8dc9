"""Thin Discord commands and listeners: event to our types, engine, answer."""
