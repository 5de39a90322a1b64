"""The commands of `cbridge` that are written in Python, a file each."""
