"""Sizing and cost worksheets: sheets as data, a small formula language, reference figures with source and date."""
