"""Policies for inlining: search and training."""
