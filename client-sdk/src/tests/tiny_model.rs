//! `y = x · W`, from two features to two outputs, as ONNX bytes written by hand.

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn value_info(name: &str, width: u64) -> Vec<u8> {
    let batch = bytes(1, &bytes(2, b"batch"));
    let columns = bytes(1, &number(1, width));
    let tensor_type = [number(1, 1), bytes(2, &[batch, columns].concat())].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor_type))].concat()
}

/// The starting weights, in the schema's order.
pub const WEIGHTS: [f32; 4] = [0.5, -0.5, 0.25, -0.25];

/// Returns the weights as served by the coordinator.
pub fn weight_bytes() -> Vec<u8> {
    WEIGHTS.map(f32::to_le_bytes).concat()
}

/// Returns the ONNX file.
pub fn onnx() -> Vec<u8> {
    let weights =
        [number(1, 2), number(1, 2), number(2, 1), bytes(8, b"W"), bytes(9, &weight_bytes())].concat();
    let node = [bytes(1, b"x"), bytes(1, b"W"), bytes(2, b"y"), bytes(4, b"MatMul")].concat();
    let graph = [
        bytes(1, &node),
        bytes(2, b"tiny"),
        bytes(5, &weights),
        bytes(11, &value_info("x", 2)),
        bytes(12, &value_info("y", 2)),
    ]
    .concat();
    [number(1, 8), bytes(7, &graph), bytes(8, &number(2, 17))].concat()
}
