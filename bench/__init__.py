"""Side-by-side measurements, printed as ratios of one run: `python -m bench`."""
