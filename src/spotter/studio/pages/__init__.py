"""The pages of Studio: one module each, with `register(context)`, which declares its routes."""
