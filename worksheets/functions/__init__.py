"""Functions that formulas call by name where no formula expresses the search; a sheet names its modules."""
