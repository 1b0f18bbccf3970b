"""Tests of phone profiles and injected faults."""
