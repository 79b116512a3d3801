"""The file actions of a log as columns, so that a check looks at the suspicious ones alone."""
