"""How results are shown, whatever they are about.

text.py       aligned tables and numbers for the terminal
html.py       pieces of a self-contained HTML page, with matplotlib figures
palette.py    the colors of all figures
progress.py   progress bars, and plain lines where there is no terminal
"""
