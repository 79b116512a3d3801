"""Golden cases that a reader of one particular fault answers wrongly, by the kind of fault."""
