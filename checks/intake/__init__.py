"""Support bundles of customers turned into cluster folders that replay."""
