// Each element adds up its shares of the gradients of all windows that read it.

fn element(i: u32) {
    let position = position_of(i);
    let windows = windows_over(position);
    var sum = 0.0;
    for (var y = windows.start.x; y < windows.end.x; y += 1u) {
        for (var x = windows.start.y; x < windows.end.y; x += 1u) {
            let window = vec2<u32>(y, x);
            // Dilated windows skip the elements between the positions that they read.
            if all((position - window * STRIDES) % DILATIONS == vec2<u32>(0u)) {
                sum += load_gradient(output_of(i, window)) / divisor(window);
            }
        }
    }
    store_out(i, sum);
}
