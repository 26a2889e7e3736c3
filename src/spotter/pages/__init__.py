"""A run as a page: the report for people, the digest for language models.

Not for reading runs (rundir/), and not for pages that a server serves (studio/).
"""
