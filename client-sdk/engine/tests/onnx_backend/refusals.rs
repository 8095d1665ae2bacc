//! The tests of the ONNX project that the importer refuses, with reasons.

/// Prefixes of test names, and why these tests are refused.
const REFUSALS: &[(&str, &str)] = &[
    ("test_einsum_batch_diagonal", "an index twice in one term, a diagonal"),
    ("test_maxpool_with_argmax", "the positions of the maxima as a second output"),
    ("test_not_", "opset 1"),
    ("test_resize_downsample_scales_cubic_antialias", ANTIALIAS),
    ("test_resize_downsample_scales_linear_antialias", ANTIALIAS),
    ("test_resize_downsample_sizes_cubic_antialias", ANTIALIAS),
    ("test_resize_downsample_sizes_linear_antialias", ANTIALIAS),
    ("test_resize_tf_crop_and_resize", "the coordinates tf_crop_and_resize"),
    ("test_scan_sum", "opset 8, in which a scan has a batch of its own"),
    (
        "test_training_dropout",
        "the expected result has NumPy's random numbers; dropout does work in training",
    ),
];

/// The exception: this name starts with the prefix of a refused test.
const SUPPORTED: &str = "test_training_dropout_zero_ratio";

const ANTIALIAS: &str = "antialias";

/// Returns why the test is refused, if it is listed.
pub fn reason(name: &str) -> Option<&'static str> {
    if name.starts_with(SUPPORTED) {
        return None;
    }
    REFUSALS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, reason)| *reason)
}

/// Prefixes of tests whose inputs are at kinks or steps, where there is no derivative.
const KINKS: &[&str] = &[
    "test_elu_example",
    "test_leakyrelu_example",
    "test_maxpool_3d_dilations",
    "test_reduce_min_default_axes_keepdims_example",
    "test_selu_example",
    "test_thresholdedrelu_example",
];

/// Returns whether central differences are meaningless for the test's inputs.
pub fn has_kinks(name: &str) -> bool {
    KINKS.iter().any(|prefix| name.starts_with(prefix))
}
