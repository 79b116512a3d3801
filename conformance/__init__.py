"""The judge: adapters execute, one comparator decides, every verdict names its requirement."""
