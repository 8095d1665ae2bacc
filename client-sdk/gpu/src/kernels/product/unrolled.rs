//! The parts of the product kernels that are unrolled for every element of an invocation's block. So sums stay in
//! registers on every driver.

use std::fmt::Write;

use super::super::super::tile::{DEPTH, Sizes};

const TILED: &str = include_str!("../../../shader/product/product_tiled.wgsl");
const DIRECT: &str = include_str!("../../../shader/product/product_direct.wgsl");
const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// Returns one line for each number below `count`.
pub(in crate::kernels) fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, index| {
        writeln!(text, "{}", line(index)).expect("writing to a string cannot fail");
        text
    })
}

/// Returns the main function of a variant with workgroup memory.
pub(super) fn tiled(sizes: Sizes) -> String {
    let invocations: usize = sizes.invocations().iter().product();
    // The number of places that an invocation fills in each round.
    let places = sizes.tile.map(|size| DEPTH * size / 4 / invocations);
    let for_both = |line: &dyn Fn(usize, char, &str) -> String| {
        lines(places[0], |i| line(i, 'a', "rows")) + &lines(places[1], |i| line(i, 'b', "columns"))
    };
    let position =
        |i: usize, matrix: char| format!("{matrix}_first + {i}u * {}_FILLERS", matrix.to_ascii_uppercase());
    let read = |i: usize, matrix: char, four: &str, k: &str| {
        format!(
            "{matrix}_read{i} = read_{matrix}(own.batch, {four}, {k} + {}, own.end);",
            position(i, matrix)
        )
    };
    let fill = |i: usize, matrix: char, _: &str| {
        let index = format!("{matrix}_index({}, {matrix}_filled)", position(i, matrix));
        format!("{matrix}_tile[{index}] = {matrix}_read{i};")
    };
    TILED
        .replace(
            "//READ_FIRST",
            &for_both(&|i, matrix, four| format!("var {}", read(i, matrix, four, "own.start"))),
        )
        .replace("//FILL", &for_both(&fill))
        .replace("//READ_NEXT", &for_both(&|i, matrix, four| read(i, matrix, four, "next")))
        .replace("//MULTIPLY", &multiply_tiled(sizes))
        .replace("//STORE", &store_tiled(sizes))
}

fn multiply_tiled(sizes: Sizes) -> String {
    let [down, across] = sizes.invocations();
    let fours = sizes.block[1] / 4;
    let a = lines(sizes.block[0] / 4, |i| format!("let a{i} = a_tile[a_index(step, row + {}u)];", i * down));
    let b = lines(fours, |i| format!("let b{i} = b_tile[b_index(step, column + {}u)];", i * across));
    let sums = lines(sizes.sums() / 4, |sum| {
        let (row, four) = (sum / fours, sum % fours);
        let a = format!("a{}.{}", row / 4, COMPONENTS[row % 4]);
        format!("sums[{sum}] = fma(vec4<f32>({a}), b{four}, sums[{sum}]);")
    });
    a + &b + &sums
}

fn store_tiled(sizes: Sizes) -> String {
    let [down, across] = sizes.invocations();
    let place = |index: usize, step: usize| (index / 4 * step, index % 4);
    lines(sizes.sums(), |sum| {
        let (row, column) = (sum / sizes.block[1], sum % sizes.block[1]);
        let ((row_step, row_part), (column_step, column_part)) = (place(row, down), place(column, across));
        format!(
            "store_inside(own.target_batch, own.first_row + row + {row_step}u + {row_part}u * ROW_PLACES, \
             own.first_column + column + {column_step}u + {column_part}u * COLUMN_PLACES, sums[{}].{});",
            sum / 4,
            COMPONENTS[sum % 4]
        )
    })
}

/// Returns the main function of the variant in which each invocation reads its own operands.
pub(super) fn direct(sizes: Sizes) -> String {
    let [down, across] = sizes.invocations();
    let [rows, columns] = sizes.block;
    let places = lines(rows, |i| format!("let row{i} = row_place(own.batch, row + {}u);", i * down))
        + &column_places(columns, across);
    let read = lines(rows, |i| format!("let a{i} = a_value(row{i}, a_at);")) + &read_columns(columns);
    let sums = lines(sizes.sums(), |sum| {
        format!("sums[{sum}] = fma(a{}, b{}, sums[{sum}]);", sum / columns, sum % columns)
    });
    let store = lines(sizes.sums(), |sum| {
        let (row, column) = (sum / columns * down, sum % columns * across);
        format!("store_inside(own.target_batch, row + {row}u, column + {column}u, sums[{sum}]);")
    });
    fill_direct(&places, &(read + &sums), &store)
}

/// Returns the main function of the variant in which eight invocations share elements of A.
pub(super) fn subgroup(sizes: Sizes) -> String {
    let [rows, columns] = sizes.block;
    let places = lines(rows / 8, |i| format!("let row{i} = row_place(own.batch, row + {}u + lane);", i * 8))
        + &column_places(columns, 8);
    let read = lines(rows / 8, |i| format!("let own_a{i} = a_value(row{i}, a_at);")) + &read_columns(columns);
    let share = lines(rows, |i| format!("let a{i} = subgroupBroadcast(own_a{}, {}u);", i / 8, i % 8));
    let sums = lines(sizes.sums(), |sum| {
        format!("sums[{sum}] = fma(a{}, b{}, sums[{sum}]);", sum / columns, sum % columns)
    });
    // Stores in a loop from workgroup memory: a store can contain many fused operators, and compiling it unrolled takes
    // long.
    let keep = lines(sizes.sums() / 4, |i| {
        let four = [0, 1, 2, 3].map(|part| format!("sums[{}]", i * 4 + part)).join(", ");
        format!("kept[lane * (SUMS / 4u) + {i}u] = vec4<f32>({four});")
    });
    let stores = lines(4, |i| {
        let sum = format!("(four * 4u + {i}u)");
        format!(
            "store_inside(own.target_batch, row + {sum} / {columns}u, column + {sum} % {columns}u * 8u, values.{});",
            COMPONENTS[i]
        )
    });
    let store = format!(
        "for (var four = 0u; four < SUMS / 4u; four += 1u) {{\n\
         let values = kept[lane * (SUMS / 4u) + four];\n{stores}}}\n"
    );
    let kept = "var<workgroup> kept: array<vec4<f32>, INVOCATIONS * SUMS / 4u>;\n";
    kept.to_owned() + &fill_direct(&places, &(read + &share + &sums), &(keep + &store))
}

fn column_places(columns: usize, across: usize) -> String {
    lines(columns, |i| format!("let column{i} = column_place(own.batch, column + {}u);", i * across))
}

fn read_columns(columns: usize) -> String {
    lines(columns, |i| format!("let b{i} = b_value(column{i}, b_at);"))
}

fn fill_direct(places: &str, multiply: &str, store: &str) -> String {
    DIRECT.replace("//PLACES", places).replace("//MULTIPLY", multiply).replace("//STORE", store)
}
