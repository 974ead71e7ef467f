"""Thresher learns sparse halfspaces from data that somebody is trying to poison."""

__version__ = "0.1.0"
