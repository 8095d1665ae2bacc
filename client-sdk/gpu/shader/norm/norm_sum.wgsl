// Sums of three numbers over a workgroup: squares, squares of large elements, and elements that are not finite.

// Larger elements are multiplied by `SHRINKING` before they are squared.
const LARGE: f32 = 7.0368744e13;
const SHRINKING: f32 = 8.271806e-25;
const GROWING: f32 = 1.2089258e24;

var<workgroup> shared_sums: array<vec3<f32>, 256>;

/// The sum, which only invocation 0 is given: sixteen invocations add up sixteen each, and one adds up theirs.
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
