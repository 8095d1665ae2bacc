// Elementwise functions that give the same results on every driver. WGSL does not specify the precision of `exp` and
// `tanh`, and compilers may assume that there are no NaNs. So NaN is tested by its bits, and created at run time. The
// CPU counterparts are in ../graph/src/cpu/element.rs and ../graph/src/cpu/kernels/elementwise.rs.

const MAGNITUDE_BITS: u32 = 0x7fffffffu;
const INFINITY_BITS: u32 = 0x7f800000u;
const SIGN_BIT: u32 = 0x80000000u;

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & MAGNITUDE_BITS) > INFINITY_BITS;
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & INFINITY_BITS) != INFINITY_BITS;
}

/// Returns whether x is below 0; false for -0 and NaN.
fn is_negative(x: f32) -> bool {
    return bitcast<u32>(x) - (SIGN_BIT + 1u) < INFINITY_BITS;
}

/// Returns whether x is not 0; true for NaN.
fn is_true(x: f32) -> bool {
    return (bitcast<u32>(x) & MAGNITUDE_BITS) != 0u;
}

fn truth(is_so: bool) -> f32 {
    return select(0.0, 1.0, is_so);
}

fn not_a_number() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn infinity() -> f32 {
    var bits = INFINITY_BITS;
    return bitcast<f32>(bits);
}

fn with_sign_of(magnitude: f32, x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(magnitude) & MAGNITUDE_BITS) | (bitcast<u32>(x) & SIGN_BIT));
}

/// Clears the last twelve bits of a number, so that the product of two such numbers is exact.
fn leading_bits(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

/// `2^n` for n from -126 to 127.
fn power_of_two(n: i32) -> f32 {
    return bitcast<f32>(u32(n + 127) << 23u);
}

/// `e^r` for |r| up to 0.35: the minimax polynomial of Moshier's Cephes (`expf`).
fn exponential_near_0(r: f32) -> f32 {
    var tail = 1.9875691e-4;
    tail = tail * r + 1.3981999e-3;
    tail = tail * r + 8.333452e-3;
    tail = tail * r + 4.1665796e-2;
    tail = tail * r + 0.16666665;
    tail = tail * r + 0.5;
    return tail * r * r + r + 1.0;
}

/// `e^x` to about one unit in the last place; 0 below -86.6.
fn exponential(x: f32) -> f32 {
    let clamped = clamp(x, -87.0, 88.72284);
    let n = round(clamped * 1.4426950);
    let r = clamped - n * 0.693359375 + n * 2.1219444e-4;
    // 2^(n-1), then times two: 2^128 alone would be infinite.
    let inside = exponential_near_0(r) * bitcast<f32>(u32(i32(n) + 126) << 23u) * 2.0;
    let below = select(inside, 0.0, x < -86.6);
    let above = select(below, infinity(), x > 88.72284);
    return select(above, x, is_nan(x));
}

/// A positive number as `m · 2^exponent`, with m in [√½, √2).
struct Scaled {
    m: f32,
    exponent: f32,
}

fn scaled(x: f32) -> Scaled {
    let tiny = bitcast<u32>(x) < 0x00800000u;
    // Subnormal numbers are counted in units of 2^-149, because hardware may flush them to 0.
    let normal = select(x, f32(bitcast<u32>(x)), tiny);
    let shifted = bitcast<u32>(normal) - 0x3f3504f3u;
    let exponent = f32(bitcast<i32>(shifted) >> 23u) - select(0.0, 149.0, tiny);
    return Scaled(bitcast<f32>((shifted & 0x007fffffu) + 0x3f3504f3u), exponent);
}

/// The natural logarithm to about one unit in the last place, after Cephes (`logf`).
fn logarithm(x: f32) -> f32 {
    let parts = scaled(x);
    let m = parts.m - 1.0;
    let z = m * m;
    var series = 7.0376836e-2;
    series = series * m - 1.151461e-1;
    series = series * m + 1.1676999e-1;
    series = series * m - 1.2420141e-1;
    series = series * m + 1.4249323e-1;
    series = series * m - 1.6668057e-1;
    series = series * m + 2.0000715e-1;
    series = series * m - 2.4999994e-1;
    series = series * m + 3.3333331e-1;
    let y = series * m * z - parts.exponent * 2.1219444e-4 - 0.5 * z;
    let regular = m + y + parts.exponent * 0.693359375;
    let positive = select(regular, x, bitcast<u32>(x) == INFINITY_BITS);
    let nonnegative = select(-infinity(), positive, is_true(x));
    return select(nonnegative, not_a_number(), is_negative(x) || is_nan(x));
}

fn square_root(x: f32) -> f32 {
    return select(sqrt(x), not_a_number(), is_negative(x));
}

/// A polynomial near 0 (Cephes, `tanhf`), the exponential elsewhere.
fn hyperbolic_tangent(x: f32) -> f32 {
    let z = x * x;
    var series = -5.7049887e-3;
    series = series * z + 2.0639089e-2;
    series = series * z - 5.3739715e-2;
    series = series * z + 1.3331442e-1;
    series = series * z - 3.3333282e-1;
    let near = series * z * x + x;
    let magnitude = min(abs(x), 20.0);
    let far = with_sign_of(1.0 - 2.0 / (exponential(magnitude + magnitude) + 1.0), x);
    return select(select(far, near, magnitude < 0.625), x, is_nan(x));
}

fn sigmoid(x: f32) -> f32 {
    return 1.0 / (1.0 + exponential(-x));
}

/// The error function: its Taylor series near 0; elsewhere Abramowitz and Stegun 7.1.26 (error below 1.5e-7).
fn error_function(x: f32) -> f32 {
    let magnitude = min(abs(x), 9.0);
    let z = magnitude * magnitude;
    var series = -8.548327e-4;
    series = series * z + 5.2239776e-3;
    series = series * z - 2.6866171e-2;
    series = series * z + 1.1283792e-1;
    series = series * z - 3.7612639e-1;
    series = series * z + 1.1283792;
    let near = x * series;
    let t = 1.0 / (1.0 + 0.3275911 * magnitude);
    var tail = 1.0614054;
    tail = tail * t - 1.453152;
    tail = tail * t + 1.4214138;
    tail = tail * t - 2.8449674e-1;
    tail = tail * t + 2.5482960e-1;
    let far = with_sign_of(1.0 - tail * t * exponential(-z), x);
    return select(select(far, near, magnitude < 0.5), x, is_nan(x));
}

/// An angle as `n π/2 + r` with |r| up to about π/4; n is an integer modulo 4.
struct Angle {
    n: i32,
    r: f32,
}

/// Splits an angle.
///
/// π/2 is the sum of four parts of twelve bits, and n of two parts of at most twelve, so every product is exact. The
/// larger products are subtracted first, exactly. This is accurate for angles up to 2^22; the neighbours of larger
/// numbers are half a radian and more apart.
fn angle(x: f32) -> Angle {
    let n = round(x * 0.63661977);
    let high = round(n * 0.00024414062) * 4096.0;
    let low = n - high;
    var r = x - high * 1.5703125;
    r = r - low * 1.5703125;
    r = r - high * 4.83751297e-4;
    r = r - low * 4.83751297e-4;
    r = r - high * 7.54953362e-8;
    r = r - low * 7.54953362e-8;
    r = r - n * 2.56328292e-12;
    return Angle(i32(n) & 3, clamp(r, -1.0, 1.0));
}

/// `sin r` for |r| up to π/4 (Cephes, `sinf`).
fn sine_near_0(r: f32) -> f32 {
    let z = r * r;
    var series = -1.9515296e-4;
    series = series * z + 8.3321609e-3;
    series = series * z - 0.16666655;
    return series * z * r + r;
}

/// `cos r` for |r| up to π/4 (Cephes, `cosf`).
fn cosine_near_0(r: f32) -> f32 {
    let z = r * r;
    var series = 2.4433157e-5;
    series = series * z - 1.3887316e-3;
    series = series * z + 4.1666646e-2;
    return series * z * z - 0.5 * z + 1.0;
}

/// `sin (n π/2 + r)`
fn sine_of(n: i32, r: f32) -> f32 {
    let magnitude = select(sine_near_0(r), cosine_near_0(r), (n & 1) != 0);
    return select(magnitude, -magnitude, (n & 2) != 0);
}

fn sine(x: f32) -> f32 {
    let parts = angle(x);
    return select(not_a_number(), sine_of(parts.n, parts.r), is_finite(x));
}

fn cosine(x: f32) -> f32 {
    let parts = angle(x);
    return select(not_a_number(), sine_of(parts.n + 1, parts.r), is_finite(x));
}

/// `x^y` for finite x above 0, to about two units in the last place.
///
/// The logarithm must be accurate to 31 bits, because its error is multiplied by up to 128. It is kept in two parts,
/// the first with twelve bits: ln m = 2 artanh s with s = (m - 1) / (m + 1), and s in two parts.
fn positive_power(x: f32, y: f32) -> f32 {
    let parts = scaled(x);
    let f = parts.m - 1.0;
    let sum = leading_bits(parts.m + 1.0);
    let s = leading_bits(f / (2.0 + f));
    let s_rest = ((f - s * sum) - s * (f - (sum - 2.0))) / (2.0 + f);
    let z = (s + s_rest) * (s + s_rest);
    let series = z * (0.6666667 + z * (0.4 + z * (0.2857143 + z * (0.22222222 + z * 0.18181818))));
    let rest = 2.0 * s_rest + (s + s_rest) * series;
    let natural = leading_bits(2.0 * s + rest);
    let natural_rest = rest - (natural - 2.0 * s);
    // log2 e = 1.4423828125 + 3.1222839e-4; the first part has twelve bits.
    let binary = natural * 1.4423828125;
    let binary_rest = natural * 3.1222839e-4 + natural_rest * 1.4426950;
    let logarithm = leading_bits(parts.exponent + (binary + binary_rest));
    let logarithm_rest = (binary - (logarithm - parts.exponent)) + binary_rest;
    if y * logarithm > 130.0 {
        return infinity();
    }
    if y * logarithm < -152.0 {
        return 0.0;
    }
    let product = leading_bits(y) * logarithm;
    let product_rest = (y - leading_bits(y)) * logarithm + y * logarithm_rest;
    let n = round(product + product_rest);
    let mantissa = exponential_near_0(((product - n) + product_rest) * 0.69314718);
    let half = i32(n) >> 1u;
    return mantissa * power_of_two(half) * power_of_two(i32(n) - half);
}

/// `|x|^y` if one of them is 0 or infinite.
fn extreme_power(magnitude: f32, y: f32) -> f32 {
    if magnitude == 1.0 {
        return 1.0;
    }
    return select(0.0, infinity(), (magnitude > 1.0) == (y > 0.0));
}

/// `x^y` with the special cases of IEEE 754.
fn power(x: f32, y: f32) -> f32 {
    if y == 2.0 {
        return x * x;
    }
    if !is_true(y) || x == 1.0 {
        return 1.0;
    }
    if is_nan(x) || is_nan(y) {
        return not_a_number();
    }
    let magnitude = abs(x);
    let regular = is_true(x) && is_finite(x) && is_finite(y);
    let is_integer = abs(y) >= 16777216.0 || y == trunc(y);
    let is_odd = abs(y) < 16777216.0 && y == trunc(y) && (i32(y) & 1) != 0;
    if is_negative(x) && regular && !is_integer {
        return not_a_number();
    }
    var result: f32;
    if regular {
        result = positive_power(magnitude, y);
    } else {
        result = extreme_power(magnitude, y);
    }
    return with_sign_of(result, select(1.0, x, is_odd));
}

fn negate(x: f32) -> f32 {
    return -x;
}

fn absolute(x: f32) -> f32 {
    return abs(x);
}

fn sign_of(x: f32) -> f32 {
    return truth(x > 0.0) - truth(x < 0.0);
}

/// NaN stays NaN, so that diverging training is noticed.
fn relu(x: f32) -> f32 {
    return select(x, 0.0, is_negative(x));
}

fn floor_of(x: f32) -> f32 {
    return floor(x);
}

fn truncate(x: f32) -> f32 {
    return trunc(x);
}

fn logical_not(x: f32) -> f32 {
    return truth(!is_true(x));
}

fn is_not_a_number(x: f32) -> f32 {
    return truth(is_nan(x));
}

fn detach(x: f32) -> f32 {
    return x;
}

fn add(a: f32, b: f32) -> f32 {
    return a + b;
}

fn subtract(a: f32, b: f32) -> f32 {
    return a - b;
}

fn multiply(a: f32, b: f32) -> f32 {
    return a * b;
}

fn divide(a: f32, b: f32) -> f32 {
    return a / b;
}

/// The smaller number; NaN if either is NaN.
fn minimum(a: f32, b: f32) -> f32 {
    return select(select(b, a, a <= b || is_nan(a)), b, is_nan(b));
}

/// The larger number; NaN if either is NaN.
fn maximum(a: f32, b: f32) -> f32 {
    return select(select(b, a, a >= b || is_nan(a)), b, is_nan(b));
}

fn equal(a: f32, b: f32) -> f32 {
    return truth(a == b);
}

fn less(a: f32, b: f32) -> f32 {
    return truth(a < b);
}

fn less_or_equal(a: f32, b: f32) -> f32 {
    return truth(a <= b);
}

fn logical_and(a: f32, b: f32) -> f32 {
    return truth(is_true(a) && is_true(b));
}

fn logical_or(a: f32, b: f32) -> f32 {
    return truth(is_true(a) || is_true(b));
}

fn choose(condition: f32, a: f32, b: f32) -> f32 {
    return select(b, a, is_true(condition));
}
