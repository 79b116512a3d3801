"""The model that says what each operation of a writer leaves."""
