"""Figures of the shipped parts, one module each: `python -m benchmarks NAME [DATA…] [--json]`."""
