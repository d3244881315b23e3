"""Report: one HTML file that shows a run to a colleague.  JSON in, HTML out; never calls a model.

`render(summary, records)` gives the page and `write(path, summary, records)` puts it into a file.  The page holds
everything it needs (text, charts, style, script), may fetch nothing, and shows every text as text, whatever it
contains.  `write_explanations(path, records, title)` writes the page of `lexproof explain`, and
`write_violins(path, groups, title)` a picture of how shares are spread.
"""

from lexproof.report.explanations import render_explanations, write_explanations
from lexproof.report.page import render, write
from lexproof.report.violin import Group
from lexproof.report.violin_file import write_violins

__all__ = ["Group", "render", "render_explanations", "write", "write_explanations", "write_violins"]
