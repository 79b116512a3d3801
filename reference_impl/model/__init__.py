"""The actions of the log and what they mean: protocol, metadata, features, partition values."""
