"""The command line: parse, call one function, format. Nothing is computed here."""
