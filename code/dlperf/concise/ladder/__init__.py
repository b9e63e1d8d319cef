"""One training script in five files, each a few lines from the one before; a reader takes the last one home."""
