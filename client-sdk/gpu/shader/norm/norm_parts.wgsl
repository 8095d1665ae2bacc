// Computes the sums of one part of a gradient.

fn squares(x: f32) -> vec3<f32> {
    let is_large = abs(x) > LARGE;
    let scaled = select(x, x * SHRINKING, is_large);
    let square = scaled * scaled;
    return vec3<f32>(select(square, 0.0, is_large), select(0.0, square, is_large), truth(!is_finite(x)));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) invocation: u32) {
    let end = min((group.x + 1u) * PART, LENGTH);
    var sum = vec3<f32>(0.0);
    for (var i = group.x * PART + invocation; i < end; i += 256u) {
        sum += squares(load_gradient(i));
    }
    sum = workgroup_sum(invocation, sum);
    if invocation == 0u {
        store_partial(group.x * 3u, sum.x);
        store_partial(group.x * 3u + 1u, sum.y);
        store_partial(group.x * 3u + 2u, sum.z);
    }
}
