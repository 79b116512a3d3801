"""Generic mutants of the reference implementation, drawn at random and judged by the gate."""
