// Uniform numbers in [0, 1), 24 bits each: SplitMix64 over a counter. A 64-bit number is a pair (low, high).

/// Returns the low 64 bits of the product.
fn multiply_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let a_parts = vec2<u32>(a.x & 0xffffu, a.x >> 16u);
    let b_parts = vec2<u32>(b.x & 0xffffu, b.x >> 16u);
    let low = a_parts.x * b_parts.x;
    let middle = a_parts.y * b_parts.x + (low >> 16u);
    let other = a_parts.x * b_parts.y + (middle & 0xffffu);
    let high = a_parts.y * b_parts.y + (middle >> 16u) + (other >> 16u);
    return vec2<u32>((other << 16u) | (low & 0xffffu), high + a.x * b.y + a.y * b.x);
}

fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

/// Returns `z ^ (z >> count)` for counts below 32.
fn fold_64(z: vec2<u32>, count: u32) -> vec2<u32> {
    return z ^ vec2<u32>((z.x >> count) | (z.y << (32u - count)), z.y >> count);
}

fn mix_64(z: vec2<u32>) -> vec2<u32> {
    let first = multiply_64(fold_64(z, 30u), vec2<u32>(0x1ce4e5b9u, 0xbf58476du));
    let second = multiply_64(fold_64(first, 27u), vec2<u32>(0x133111ebu, 0x94d049bbu));
    return fold_64(second, 31u);
}

fn element(i: u32) {
    let key = mix_64(vec2<u32>(step.seed_low, step.seed_high) ^ STREAM);
    let counter = multiply_64(vec2<u32>(0x7f4a7c15u, 0x9e3779b9u), vec2<u32>(i, 0u));
    let bits = mix_64(add_64(key, counter));
    // The top 24 bits, divided by 2^24.
    store_out(i, f32(bits.y >> 8u) * 5.9604645e-8);
}
