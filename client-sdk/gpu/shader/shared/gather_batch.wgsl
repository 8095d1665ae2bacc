// Copies the examples of the current step: `order` holds their indexes, batch after batch.
fn element(i: u32) {
    if i < FEATURES {
        let row = load_order(step.first + i / FEATURE_WIDTH);
        store_features(i, load_all_features(row * FEATURE_WIDTH + i % FEATURE_WIDTH));
    } else {
        let j = i - FEATURES;
        let row = load_order(step.first + j / LABEL_WIDTH);
        store_labels(j, load_all_labels(row * LABEL_WIDTH + j % LABEL_WIDTH));
    }
}
