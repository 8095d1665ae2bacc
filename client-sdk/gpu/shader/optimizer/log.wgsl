// Writes the loss of a step and its number of correct predictions to the step's row of the log.

fn log_loss() {
    log_store(0u, bitcast<u32>(load_loss(0u)));
    log_store(1u, bitcast<u32>(load_correct(0u)));
}
