"""From a log segment to the state of a version (section Action Reconciliation)."""
