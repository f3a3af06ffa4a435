"""Workbooks for spreadsheet programs, with the formulas of the sheets live in them."""
