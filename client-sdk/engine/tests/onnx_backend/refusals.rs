//! The tests of the ONNX project that the importer refuses, each with the reason.

/// The beginning of the names of tests, and why they are refused.
const REFUSALS: &[(&str, &str)] = &[
    ("test_averagepool_3d", THREE_DIMENSIONS),
    ("test_convtranspose_3d", THREE_DIMENSIONS),
    ("test_einsum_batch_diagonal", "an index twice in one term, a diagonal"),
    ("test_maxpool_3d", THREE_DIMENSIONS),
    ("test_maxpool_with_argmax", "the positions of the largest as a second output"),
    ("test_not_", "operator set 1"),
    ("test_training_dropout", "the expected result is NumPy's random numbers; training does drop"),
];

/// `test_training_dropout_zero_ratio` begins like a test that is refused.
const SUPPORTED: &str = "test_training_dropout_zero_ratio";

const THREE_DIMENSIONS: &str = "three spatial dimensions";

/// Why the test is refused, if it is listed.
pub fn reason(name: &str) -> Option<&'static str> {
    if name.starts_with(SUPPORTED) {
        return None;
    }
    REFUSALS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, reason)| *reason)
}

/// The beginning of the names of tests whose inputs lie on kinks or steps, where there is no derivative.
const KINKS: &[&str] = &[
    "test_elu_example",
    "test_leakyrelu_example",
    "test_reduce_min_default_axes_keepdims_example",
    "test_selu_example",
    "test_thresholdedrelu_example",
];

/// Whether the test's inputs are such that central differences say nothing.
pub fn has_kinks(name: &str) -> bool {
    KINKS.iter().any(|prefix| name.starts_with(prefix))
}
