"""One training script in five files, each a few lines from the one before: readers take the last one home."""
