"""Charts as data, and the ways to draw them: SVG, PNG, letters in a terminal, ECharts, matplotlib.

Not for deciding what a page shows: pages build a chart from a run's numbers and have it drawn here.
"""
