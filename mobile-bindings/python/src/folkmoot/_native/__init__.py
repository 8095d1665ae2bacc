"""The native library and its Python module. Both are built and not in the repository."""
