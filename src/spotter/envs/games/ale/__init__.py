"""What the Atari family is made of: what a cartridge holds, what a policy sees of it."""
