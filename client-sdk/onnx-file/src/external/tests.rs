use super::*;
use crate::FileError;

/// A field with a length.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    push_varint(&mut field, number << 3 | 2);
    push_varint(&mut field, content.len() as u64);
    field.extend_from_slice(content);
    field
}

/// A field with an integer.
fn integer(number: u64, value: u64) -> Vec<u8> {
    let mut field = Vec::new();
    push_varint(&mut field, number << 3);
    push_varint(&mut field, value);
    field
}

fn entry(key: &str, value: &str) -> Vec<u8> {
    field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
}

/// The fields of a tensor in front of its elements: two floats.
fn head() -> Vec<u8> {
    [integer(1, 2), integer(2, 1), field(8, b"weight")].concat()
}

/// A tensor with a name of its own for the documentation, whose elements are in the file or in `w.data`.
fn tensor(elements: Option<&[u8]>, entries: &[(&str, &str)]) -> Vec<u8> {
    let raw = elements.map(|elements| field(9, elements)).unwrap_or_default();
    let entries: Vec<u8> = entries.iter().flat_map(|(key, value)| entry(key, value)).collect();
    let location = if elements.is_some() { Vec::new() } else { integer(14, 1) };
    [head(), raw, field(12, b"a note"), entries, location].concat()
}

fn external(offset: &str) -> Vec<u8> {
    tensor(None, &[("location", "w.data"), ("offset", offset), ("length", "8")])
}

/// A model whose graph has these fields.
fn model(graph: &[u8]) -> Vec<u8> {
    [integer(1, 10), field(7, graph), field(99, b"a later version's field")].concat()
}

fn with_tensor(tensor: &[u8]) -> Vec<u8> {
    model(&field(5, tensor))
}

fn find(bytes: &[u8]) -> Result<Parts<'_>, ExternalError> {
    Parts::find(bytes, &ImportLimits::default())
}

fn refusal(tensor: &[u8]) -> String {
    find(&with_tensor(tensor)).expect_err("it is refused").to_string()
}

/// Joins a model with a file `w.data`.
fn joined(bytes: &[u8], data: &[u8]) -> Vec<u8> {
    let parts = find(bytes).expect("it can be joined");
    let read = |tensor: &ExternalTensor, elements: &mut [u8]| {
        tensor.check_in(data.len() as u64)?;
        elements.copy_from_slice(&data[tensor.range.start as usize..tensor.range.end as usize]);
        Ok::<(), ExternalError>(())
    };
    let joined = parts.joined(read).expect("the file is long enough");
    assert_eq!(joined.len(), parts.joined_bytes());
    joined
}

const DATA: &[u8] = b"0123456789abcdef";

#[test]
fn a_tensor_is_joined_and_every_other_byte_stays() {
    let bytes = with_tensor(&external("4"));
    assert_eq!(joined(&bytes, DATA), with_tensor(&tensor(Some(&DATA[4..12]), &[])));
    assert_eq!(find(&bytes).unwrap().files(), BTreeSet::from(["w.data"]));
}

#[test]
fn a_model_in_one_file_is_not_changed() {
    let bytes = with_tensor(&tensor(Some(&DATA[..8]), &[]));
    let parts = find(&bytes).unwrap();
    assert!(parts.tensors().is_empty());
    assert_eq!(parts.pieces(), [Piece::Model(0..bytes.len())]);
    // Some exporters write the default location, and entries without a location mean nothing.
    let written = [tensor(Some(&DATA[..8]), &[("location", "../x")]), integer(14, 0)].concat();
    assert!(find(&with_tensor(&written)).unwrap().tensors().is_empty());
}

/// Returns a model with a tensor at one of the places where ONNX allows it.
type Around = fn(&[u8]) -> Vec<u8>;

#[test]
fn tensors_are_found_wherever_they_can_be() {
    let graph_of = |tensor: &[u8]| field(1, &field(5, &field(5, tensor)));
    let places: [(&str, Around); 8] = [
        ("an initializer", |tensor| model(&field(5, tensor))),
        ("a constant", |tensor| model(&field(1, &field(5, &field(5, tensor))))),
        ("a list of tensors", |tensor| model(&field(1, &field(5, &field(10, tensor))))),
        ("a branch", |tensor| model(&field(1, &field(5, &field(6, &field(5, tensor)))))),
        ("one of many graphs", |tensor| model(&field(1, &field(5, &field(11, &field(5, tensor)))))),
        ("a function", |tensor| [model(b""), field(25, &field(7, &field(5, &field(5, tensor))))].concat()),
        ("a default value", |tensor| [model(b""), field(25, &field(11, &field(5, tensor)))].concat()),
        ("a training", |tensor| [model(b""), field(20, &field(1, &field(5, tensor)))].concat()),
    ];
    for (place, around) in places {
        let whole = around(&tensor(Some(&DATA[..8]), &[]));
        assert_eq!(joined(&around(&external("0")), DATA), whole, "{place}");
    }
    // A long tensor changes the length of every message around it to more bytes.
    let elements = vec![7; 1 << 16];
    let long = |raw: &[u8], rest: &[u8]| {
        model(&graph_of(&[integer(1, 1 << 14), integer(2, 1), raw.to_vec(), rest.to_vec()].concat()))
    };
    let apart = long(&[], &[entry("location", "w.data"), integer(14, 1)].concat());
    assert_eq!(joined(&apart, &elements), long(&field(9, &elements), &[]));
}

#[test]
fn fields_in_any_order_and_long_varints_are_read() {
    let place = [integer(14, 1), entry("offset", "8"), entry("location", "w.data")].concat();
    let bytes = with_tensor(&[place, head()].concat());
    assert_eq!(joined(&bytes, DATA), with_tensor(&[field(9, &DATA[8..]), head()].concat()));
    // The tag and the length of the graph have ten bytes each.
    let long = |value: u8| [&[value | 0x80][..], &[0x80; 8], &[0]].concat();
    let graph = field(5, &external("0"));
    let bytes = [long(7 << 3 | 2), long(graph.len() as u8), graph].concat();
    let graph = field(5, &tensor(Some(&DATA[..8]), &[]));
    let expected = [long(7 << 3 | 2), vec![graph.len() as u8], graph].concat();
    assert_eq!(joined(&bytes, DATA), expected);
}

#[test]
fn tensors_may_share_bytes_and_be_empty() {
    let bytes = model(&[field(5, &external("0")), field(5, &external("4"))].concat());
    let whole = [&DATA[..8], &DATA[4..12]].map(|elements| field(5, &tensor(Some(elements), &[])));
    assert_eq!(joined(&bytes, DATA), model(&whole.concat()));
    let empty = |rest: Vec<u8>| with_tensor(&[integer(1, 0), integer(2, 1), rest].concat());
    let apart = empty([entry("location", "w.data"), integer(14, 1)].concat());
    assert_eq!(joined(&apart, b""), empty(field(9, b"")));
}

#[test]
fn entries_are_checked() {
    let with = |entries: &[(&str, &str)]| refusal(&tensor(None, entries));
    assert!(with(&[]).contains("the entry `location` is missing"));
    assert!(with(&[("location", "a"), ("location", "b")]).contains("`location` occurs twice"));
    for place in ["", "..", "../w.data", "/etc/passwd", "C:\\w.data", "a/b", "a\\b", "w\0"] {
        assert!(with(&[("location", place)]).contains("not a plain file name"), "{place}");
    }
    let with = |key: &str, value: &str| refusal(&tensor(None, &[("location", "w.data"), (key, value)]));
    for value in ["", "-1", "1.5", "0x10", "ten", "18446744073709551616"] {
        assert!(with("offset", value).contains("`offset` is"), "{value}");
        assert!(with("length", value).contains("`length` is"), "{value}");
    }
    assert!(with("offset", "18446744073709551608").contains("too large for a file"));
    for length in ["0", "7", "9", "18446744073709551615"] {
        assert!(with("length", length).contains("needs 8 bytes"), "{length}");
    }
    let entries = vec![("other", ""); 16];
    assert!(refusal(&tensor(None, &entries)).contains("location"));
    assert!(refusal(&tensor(None, &[("other", ""); 17])).contains("the limit is 16"));
    // A checksum and an entry that ONNX does not define are ignored.
    let others = [("location", "w.data"), ("checksum", "0"), ("basepath", "/")];
    assert_eq!(
        joined(&with_tensor(&tensor(None, &others)), DATA),
        with_tensor(&tensor(Some(&DATA[..8]), &[]))
    );
}

#[test]
fn tensors_are_checked() {
    let at =
        |head: &[Vec<u8>]| refusal(&[head.concat(), entry("location", "w.data"), integer(14, 1)].concat());
    let huge = i64::MAX as u64;
    assert!(
        at(&[integer(1, huge), integer(1, huge), integer(2, 1)]).contains("more elements than the limit")
    );
    assert!(at(&[integer(1, 1 << 28 | 1), integer(2, 1)]).contains("more elements than the limit"));
    assert!(at(&[integer(1, u64::MAX), integer(2, 1)]).contains("dimension -1"));
    assert!(at(&[integer(1, 1).repeat(9), integer(2, 1)]).contains("dimensions in a tensor; the limit is 8"));
    assert!(at(&[field(1, &[1; 81]), integer(2, 1)]).contains("the limit is 80"));
    assert!(at(&[integer(1, 1), integer(2, 8)]).contains("element type 8"));
    assert!(at(&[head(), field(9, b"12345678")]).contains("also has elements for it"));
    assert!(at(&[head(), field(4, b"12345678")]).contains("also has elements for it"));
    assert!(at(&[head(), field(8, &[0xff])]).contains("not a valid ONNX file"));
    let sparse = [1, 2].map(|part| find(&model(&field(15, &field(part, &external("0"))))).unwrap_err());
    assert!(sparse.iter().all(|error| error.to_string().contains("sparse")), "{sparse:?}");
}

#[test]
fn a_short_file_is_refused() {
    let bytes = with_tensor(&external("9"));
    let parts = find(&bytes).unwrap();
    let [tensor] = parts.tensors() else { panic!("it has one tensor") };
    assert_eq!(tensor.check_in(17), Ok(()));
    let error = tensor.check_in(16).unwrap_err().to_string();
    assert!(error.contains("w.data has 16 bytes, but tensor weight ends at byte 17"), "{error}");
}

#[test]
fn sizes_are_limited_before_anything_is_read() {
    let bytes = with_tensor(&external("0"));
    let with_limit = |model_bytes_max| {
        Parts::find(&bytes, &ImportLimits { model_bytes_max, ..ImportLimits::default() }).err()
    };
    let size = find(&bytes).unwrap().joined_bytes();
    assert_eq!(with_limit(size), None);
    let too_large = |bytes| Some(FileError::ModelTooLarge { bytes, limit: size - 1 }.into());
    assert_eq!(with_limit(size - 1), too_large(size));

    // Three tensors of 1 GiB each: the third is not looked at.
    let dims = [integer(1, 1 << 28), integer(2, 1), entry("location", "w.data"), integer(14, 1)].concat();
    let bytes = model(&field(5, &dims).repeat(3));
    let limits = ImportLimits { model_bytes_max: usize::MAX, ..ImportLimits::default() };
    let error = Parts::find(&bytes, &limits).unwrap_err();
    assert_eq!(error, ExternalError::TooLargeForProtobuf { bytes: 1 << 31 });

    let limits = ImportLimits { initializers_max: 2, ..ImportLimits::default() };
    let bytes = model(&field(5, &external("0")).repeat(3));
    let error = Parts::find(&bytes, &limits).unwrap_err().to_string();
    assert!(error.contains("3 tensors in other files; the limit is 2"), "{error}");
}

#[test]
fn graphs_inside_of_each_other_are_limited() {
    let nested = |depth: usize| {
        let graph =
            (0..depth).fold(field(5, &external("0")), |graph, _| field(1, &field(5, &field(6, &graph))));
        model(&graph)
    };
    assert_eq!(find(&nested(16)).unwrap().tensors().len(), 1);
    let error = find(&nested(17)).unwrap_err().to_string();
    assert!(error.contains("17 levels of nested graphs; the limit is 16"), "{error}");
}

#[test]
fn every_cut_is_an_error_or_a_model_without_the_tensor() {
    let bytes = model(&field(5, &external("0")));
    for end in 0..bytes.len() {
        if let Ok(parts) = find(&bytes[..end]) {
            let whole = bytes.len() - field(99, b"a later version's field").len();
            assert!(parts.tensors().is_empty() || end == whole, "{end}");
        }
    }
}
