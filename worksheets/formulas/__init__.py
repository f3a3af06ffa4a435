"""One small, safe expression language for the rows of worksheets."""
