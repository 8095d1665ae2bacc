// Converts position numbers to rows of a table.

/// Returns the row of a position. A negative position counts from the end; a position out of range gives the nearest
/// row.
fn row_of(position: f32) -> u32 {
    let size = i32(SIZE);
    let bounded = clamp(select(position, 0.0, is_nan(position)), -f32(SIZE) - 1.0, f32(SIZE));
    let wanted = i32(trunc(bounded));
    return u32(clamp(select(wanted, wanted + size, wanted < 0), 0, size - 1));
}
