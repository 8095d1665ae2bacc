// C = A B for a batch of matrices. Functions before this text give the addresses of the elements. A workgroup computes
// a tile of C. Every sum runs over k in ascending order, whatever the tile size.

struct Assignment {
    first_row: u32,
    first_column: u32,
    batch: u32,
    /// The batch to store to; if several workgroups share a sum, the batch of the part.
    target_batch: u32,
    /// The terms to add up, from `start` to `end`.
    start: u32,
    end: u32,
}

fn assignment(tile: u32) -> Assignment {
    let product = tile / (TILES_ACROSS * TILES_DOWN);
    let batch = product % BATCHES;
    let start = product / BATCHES * PART;
    return Assignment(
        tile / TILES_ACROSS % TILES_DOWN * TILE_ROWS,
        tile % TILES_ACROSS * TILE_COLUMNS,
        batch,
        product,
        start,
        min(start + PART, term_count(batch)),
    );
}

/// Returns where row `row` of A begins; rows out of range use the last row.
fn row_place(batch: u32, row: u32) -> vec4<u32> {
    return a_row(batch, min(row, M - 1u));
}

fn column_place(batch: u32, column: u32) -> vec4<u32> {
    return b_column(batch, min(column, N - 1u));
}

fn store_inside(batch: u32, row: u32, column: u32, value: f32) {
    if row < M && column < N {
        store_product(batch, row, column, value);
    }
}
