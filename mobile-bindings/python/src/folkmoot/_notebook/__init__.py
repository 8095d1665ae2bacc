"""Results as people look at them: data frames, tables and curves in notebooks, and progress bars."""
