"""Recordings without names: `anonymise` for a folder, `Anonymiser` and `stream` for one file after another."""

from checks.anonymise.folder import MARKER, Report, anonymise, stream
from checks.anonymise.text import Anonymiser

__all__ = ["MARKER", "Anonymiser", "Report", "anonymise", "stream"]
