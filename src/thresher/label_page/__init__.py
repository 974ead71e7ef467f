"""The web page of a labeling session.

server.py        where it listens, what it prints, how it ends
slow_clients.py  deadlines for clients that send or read slowly
app.py           which address leads to which page; where a personal link leads
guard.py         what every request passes: names, origins, sizes, rates, security headers
rates.py         how often someone may ask
accounts.py      the owner and annotators, and their personal links
site.py          what all pages share: templates, fields of forms, errors
answering.py     the page of one row
shown_row.py     a row as it is shown
overview.py      the owner's page: progress, people, suspects, files
error_curve.py   the error estimate over the number of labels, as a drawing
images.py        pictures in a table
"""

from thresher.label_page.server import Place, serve

__all__ = ["Place", "serve"]
