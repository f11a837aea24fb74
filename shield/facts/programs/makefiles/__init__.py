"""Makefiles, as GNU make reads them."""
