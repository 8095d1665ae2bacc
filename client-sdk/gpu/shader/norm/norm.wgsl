// Computes the norm and the factor of the gradient from the sums of all parts.

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) invocation: u32) {
    var sum = vec3<f32>(0.0);
    for (var part = invocation; part < PARTS; part += 256u) {
        let at = part * 3u;
        sum += vec3<f32>(load_partial(at), load_partial(at + 1u), load_partial(at + 2u));
    }
    sum = workgroup_sum(invocation, sum);
    if invocation != 0u {
        return;
    }
    let large = sqrt(sum.y + sum.x * SHRINKING * SHRINKING) * GROWING;
    let scaled_norm = select(sqrt(sum.x), large, sum.y > 0.0);
    let finite = sum.z == 0.0;
    var factor = 1.0 / loss_scale();
    let norm = scaled_norm * factor;
    if CLIPS && finite && norm > NORM_MAX {
        factor *= NORM_MAX / norm;
    }
    store_norm(0u, norm);
    store_norm(1u, truth(finite));
    store_norm(2u, factor);
}
