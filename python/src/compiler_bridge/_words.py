"""Numbers in sentences."""


def plural(count: int, thing: str) -> str:
    """`1 module`, `2 modules`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
