"""The thin layer on Discord's side: events and commands become ours, the engine's answers go back."""
