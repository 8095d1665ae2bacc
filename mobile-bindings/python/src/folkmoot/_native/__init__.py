"""The native library, and the module that calls it: both are built, and neither is in the repository."""
