"""The suite: one test module per source of cases; ``pytest --impl=NAME`` runs it."""
