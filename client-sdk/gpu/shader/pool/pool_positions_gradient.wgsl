// Each element adds up the gradients of the windows in which it is the first maximum.

fn element(i: u32) {
    let own = f32(i % (INPUT.x * INPUT.y));
    let windows = windows_over(position_of(i));
    var sum = 0.0;
    for (var y = windows.start.x; y < windows.end.x; y += 1u) {
        for (var x = windows.start.y; x < windows.end.y; x += 1u) {
            let at = output_of(i, vec2<u32>(y, x));
            if load_positions(at) == own {
                sum += load_gradient(at);
            }
        }
    }
    store_out(i, sum);
}
