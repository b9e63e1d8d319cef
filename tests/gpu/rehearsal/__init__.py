"""A rehearsal: the pages' cells, shortened by a rule, on a simulated GPU; which lines for a GPU alone they reach."""
