"""Writes the sample clusters: `python -m sample_clusters.make [NAME…]`. Not shipped in the wheel."""
