"""How a run looks in a terminal: words, sparklines, the live table, plain lines, the last box."""
