"""Policies that learn: `cbridge train`."""
