// The variants that use workgroup memory. A place there holds four elements: from rows of A (columns of B) that are a
// quarter of the tile apart. So neighbouring invocations access neighbouring memory.

const ROW_PLACES: u32 = TILE_ROWS / 4u;
const COLUMN_PLACES: u32 = TILE_COLUMNS / 4u;
/// The number of invocations that fill the same places, for different k.
const A_FILLERS: u32 = INVOCATIONS / ROW_PLACES;
const B_FILLERS: u32 = INVOCATIONS / COLUMN_PLACES;

var<workgroup> a_tile: array<vec4<f32>, DEPTH * ROW_PLACES>;
var<workgroup> b_tile: array<vec4<f32>, DEPTH * COLUMN_PLACES>;

/// The first elements of four rows or columns.
struct Four {
    x: vec4<u32>,
    y: vec4<u32>,
    z: vec4<u32>,
    w: vec4<u32>,
}

fn four_rows(batch: u32, first: u32) -> Four {
    return Four(
        row_place(batch, first),
        row_place(batch, first + ROW_PLACES),
        row_place(batch, first + 2u * ROW_PLACES),
        row_place(batch, first + 3u * ROW_PLACES),
    );
}

fn four_columns(batch: u32, first: u32) -> Four {
    return Four(
        column_place(batch, first),
        column_place(batch, first + COLUMN_PLACES),
        column_place(batch, first + 2u * COLUMN_PLACES),
        column_place(batch, first + 3u * COLUMN_PLACES),
    );
}

fn read_a(batch: u32, rows: Four, k: u32, end: u32) -> vec4<f32> {
    let depth = a_depth(batch, min(k, K - 1u));
    let read = vec4<f32>(
        a_value(rows.x, depth),
        a_value(rows.y, depth),
        a_value(rows.z, depth),
        a_value(rows.w, depth),
    );
    return select(vec4<f32>(0.0), read, DEPTH_DIVIDES || k < end);
}

fn read_b(batch: u32, columns: Four, k: u32, end: u32) -> vec4<f32> {
    let depth = b_depth(batch, min(k, K - 1u));
    let read = vec4<f32>(
        b_value(columns.x, depth),
        b_value(columns.y, depth),
        b_value(columns.z, depth),
        b_value(columns.w, depth),
    );
    return select(vec4<f32>(0.0), read, DEPTH_DIVIDES || k < end);
}

/// Returns the index of a place. The XOR puts neighbours along k that are written together into different memory banks.
fn a_index(k: u32, place: u32) -> u32 {
    return k * ROW_PLACES + (place ^ (k & A_BANKS));
}

fn b_index(k: u32, place: u32) -> u32 {
    return k * COLUMN_PLACES + (place ^ (k & B_BANKS));
}

@compute @workgroup_size(INVOCATIONS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.y * GROUPS_ACROSS + group.x;
    if tile >= TILES {
        return;
    }
    let own = assignment(tile);
    // The place that an invocation fills, and its first k. They are chosen so that neighbouring memory is read
    // together.
    let a_filled = select(lane % ROW_PLACES, lane / A_FILLERS, A_ALONG_K);
    let a_first = select(lane / ROW_PLACES, lane % A_FILLERS, A_ALONG_K);
    let b_filled = select(lane % COLUMN_PLACES, lane / B_FILLERS, B_ALONG_K);
    let b_first = select(lane / COLUMN_PLACES, lane % B_FILLERS, B_ALONG_K);
    let rows = four_rows(own.batch, own.first_row + a_filled);
    let columns = four_columns(own.batch, own.first_column + b_filled);
    let row = lane / INVOCATIONS_ACROSS;
    let column = lane % INVOCATIONS_ACROSS;
    var sums: array<vec4<f32>, SUMS / 4u>;
    //READ_FIRST
    for (var k = own.start; k < own.end; k += DEPTH) {
        //FILL
        workgroupBarrier();
        // Load the data of the next round while this round computes.
        let next = k + DEPTH;
        if next < own.end {
            //READ_NEXT
        }
        for (var step = 0u; step < DEPTH; step += 1u) {
            //MULTIPLY
        }
        workgroupBarrier();
    }
    //STORE
}
