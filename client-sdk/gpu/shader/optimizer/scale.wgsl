// Updates the loss scale after a step: halves it if a gradient overflowed, and doubles it after many steps without
// overflow (Micikevicius et al. 2018, section 3.2).

const GOOD_STEPS: f32 = 2000.0;
const SCALE_MAX: f32 = 65536.0;
const SCALE_MIN: f32 = 1.0 / 65536.0;

fn element(i: u32) {
    let scale = load_scale(0u);
    if load_norm(1u) != 1.0 {
        store_scale(0u, max(scale * 0.5, SCALE_MIN));
        store_scale(1u, 0.0);
        return;
    }
    let good_steps = load_scale(1u) + 1.0;
    let grows = good_steps >= GOOD_STEPS;
    store_scale(0u, select(scale, min(scale * 2.0, SCALE_MAX), grows));
    store_scale(1u, select(good_steps, 0.0, grows));
}
