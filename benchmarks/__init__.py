"""The performance bars: ratios measured side by side in one run, never in the test suite."""
