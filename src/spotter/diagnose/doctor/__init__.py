"""What is wrong, and what to do first: with environments, and with runs. Neither needs torch."""
