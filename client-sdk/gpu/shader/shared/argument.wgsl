// The position of the maximum of `LENGTH` elements for each of `OUTPUTS`. `LANES` invocations of a workgroup share an
// output, as in reduce.wgsl. As in a sequential scan, NaN is the maximum only if it comes first.

struct Candidate {
    value: f32,
    position: u32,
}

const NOWHERE: u32 = 0xffffffffu;

var<workgroup> shared_values: array<f32, 256>;
var<workgroup> shared_positions: array<u32, 256>;

fn better(a: Candidate, b: Candidate) -> Candidate {
    let is_before = (b.position > a.position) == LAST;
    let is_better = b.value > a.value || (b.value == a.value && is_before);
    if b.position != NOWHERE && (a.position == NOWHERE || is_better) {
        return b;
    }
    return a;
}

fn remembered(invocation: u32) -> Candidate {
    return Candidate(shared_values[invocation], shared_positions[invocation]);
}

fn remember(invocation: u32, candidate: Candidate) {
    shared_values[invocation] = candidate.value;
    shared_positions[invocation] = candidate.position;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) invocation: u32) {
    let lane = (invocation / LANE_STRIDE) % LANES;
    let output = (group.y * COLUMNS + group.x) * BREADTH + (invocation / OUTPUT_STRIDE) % BREADTH;
    var best = Candidate(0.0, NOWHERE);
    var begins_with_nan = false;
    if output < OUTPUTS {
        let first = base(output);
        for (var position = lane; position < LENGTH; position += LANES) {
            let value = load_x(first + offset(position));
            if !is_nan(value) {
                best = better(best, Candidate(value, position));
            } else if position == 0u {
                begins_with_nan = true;
            }
        }
    }
    if LANES > 1u {
        remember(invocation, best);
        workgroupBarrier();
        if lane < HEADS {
            for (var other = lane + HEADS; other < LANES; other += HEADS) {
                best = better(best, remembered(invocation + (other - lane) * LANE_STRIDE));
            }
            remember(invocation, best);
        }
        workgroupBarrier();
        if lane == 0u {
            for (var other = 1u; other < HEADS; other += 1u) {
                best = better(best, remembered(invocation + other * LANE_STRIDE));
            }
        }
    }
    if lane == 0u && output < OUTPUTS {
        store_out(output, f32(select(best.position, 0u, begins_with_nan || best.position == NOWHERE)));
    }
}
