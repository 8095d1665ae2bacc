// Adds three numbers over a workgroup: squares, squares of large elements, and the number of elements that are not
// finite.

// Elements above this are multiplied by `SHRINKING` before squaring.
const LARGE: f32 = 7.0368744e13;
const SHRINKING: f32 = 8.271806e-25;
const GROWING: f32 = 1.2089258e24;

var<workgroup> shared_sums: array<vec3<f32>, 256>;

/// Returns the sum, to invocation 0 only. Sixteen invocations add up sixteen values each, and one adds up their sums.
fn workgroup_sum(invocation: u32, own: vec3<f32>) -> vec3<f32> {
    var sum = own;
    shared_sums[invocation] = sum;
    workgroupBarrier();
    if invocation < 16u {
        for (var other = invocation + 16u; other < 256u; other += 16u) {
            sum += shared_sums[other];
        }
        shared_sums[invocation] = sum;
    }
    workgroupBarrier();
    if invocation == 0u {
        for (var other = 1u; other < 16u; other += 1u) {
            sum += shared_sums[other];
        }
    }
    return sum;
}
