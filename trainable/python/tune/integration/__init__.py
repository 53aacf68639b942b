"""Training libraries, by Ray's names. Each module needs its library alone."""
