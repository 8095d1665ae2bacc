//! Converts bytes to brightness.

/// Appends bytes as numbers from 0 (black) to 1 (white).
pub(crate) fn push(bytes: &[u8], features: &mut Vec<f32>) {
    features.extend(bytes.iter().map(|byte| f32::from(*byte) / 255.0));
}

/// Appends an image with rows and columns swapped.
pub(crate) fn push_transposed(bytes: &[u8], width: usize, features: &mut Vec<f32>) {
    for column in 0..width {
        features.extend(bytes.iter().skip(column).step_by(width).map(|byte| f32::from(*byte) / 255.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_scaled_and_exchanged() {
        let mut features = Vec::new();
        push(&[0, 51, 255], &mut features);
        assert_eq!(features, [0.0, 0.2, 1.0]);
        let mut features = Vec::new();
        // An image of two rows and three columns becomes three rows and two columns.
        push_transposed(&[0, 51, 102, 255, 0, 51], 3, &mut features);
        assert_eq!(features, [0.0, 1.0, 0.2, 0.0, 0.4, 0.2]);
    }
}
