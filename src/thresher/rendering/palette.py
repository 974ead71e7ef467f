"""The colors of all figures: Okabe and Ito's, and three of Tol's, for color-blind readers.

Color never stands alone: markers, dashes or hatches tell things apart in gray print. The colors of
HTML pages, which have a dark mode, are in `page.css`.
"""

BLUE = "#0072B2"
RED = "#D55E00"
GREEN = "#009E73"  # Thresher's own, in every comparison
PINK = "#CC79A7"
ORANGE = "#E69F00"
LIGHT_BLUE = "#56B4E9"
YELLOW = "#F0E442"
INDIGO = "#332288"
WINE_RED = "#882255"
OLIVE = "#999933"
