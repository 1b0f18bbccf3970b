"""The aarch64 tiers: inner loops by analysis, and the whole library in an emulated processor."""
