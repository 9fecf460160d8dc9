"""The asyncio engine over the ports; it knows no library of the outside."""
