"""Implementations that are not ours, asked over the conformance protocol (docs/protocol.md) or in this process."""
