// Reduces `LENGTH` elements to each of `OUTPUTS` numbers. `LANES` invocations of a workgroup share an output.

var<workgroup> shared_values: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) invocation: u32) {
    let lane = (invocation / LANE_STRIDE) % LANES;
    let output = (group.y * COLUMNS + group.x) * BREADTH + (invocation / OUTPUT_STRIDE) % BREADTH;
    var value = start();
    if output < OUTPUTS {
        let first = base(output);
        let end = min((group.z + 1u) * PART, LENGTH);
        for (var position = group.z * PART + lane; position < end; position += LANES) {
            value = combine(value, load_x(first + offset(position)));
        }
    }
    if LANES > 1u {
        shared_values[invocation] = value;
        workgroupBarrier();
        if lane < HEADS {
            for (var other = lane + HEADS; other < LANES; other += HEADS) {
                value = combine(value, shared_values[invocation + (other - lane) * LANE_STRIDE]);
            }
            shared_values[invocation] = value;
        }
        workgroupBarrier();
        if lane == 0u {
            for (var other = 1u; other < HEADS; other += 1u) {
                value = combine(value, shared_values[invocation + other * LANE_STRIDE]);
            }
        }
    }
    if lane == 0u && output < OUTPUTS {
        store_out(output * PARTS + group.z, value);
    }
}
