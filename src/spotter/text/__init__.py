"""Numbers, series and events as text: used by every command, page and tool.

Not for whole screens or pages, and not for reading runs.
"""
