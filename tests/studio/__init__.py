"""Studio, tested as it is used: a real server process, real run folders, a real browser."""
