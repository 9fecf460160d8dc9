"""One module per published figure."""
