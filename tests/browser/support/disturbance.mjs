/** Measures how much training disturbs its page. The results depend on the machine, so no test checks them. */

import { openWorld } from './world.mjs';

const PAUSES = 20;

/** Measures for `seconds` with training and for `seconds` without. The results are in milliseconds. */
export async function measureDisturbance(seconds) {
  const world = await openWorld();
  try {
    const page = await world.page();
    const idle = await longTasks(page, seconds);
    await page.evaluate(() => client.start());
    const task = { plan: { epochs: 1_000_000 }, scheduling: { deadlineSeconds: 3600 }, rounds: 1 };
    await world.coordinator.task(task, 'cnn.onnx');
    await page.evaluate(() => heard('training'));
    const training = await longTasks(page, seconds);
    const pauses = await page.evaluate(timePauses, PAUSES);
    pauses.sort((a, b) => a - b);
    return {
      pauses: { count: PAUSES, median: pauses[PAUSES / 2], largest: pauses.at(-1) },
      long_tasks: { seconds, idle, training },
    };
  } finally {
    await world.close();
  }
}

/** Measures `count` times how long it takes from `pause()` until the worker reports that it has paused. */
async function timePauses(count) {
  const times = [];
  for (let time = 0; time < count; time += 1) {
    // Without this delay, each pause would come right after a progress event, at a time when the worker handles
    // messages anyway.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const begun = performance.now();
    client.pause();
    times.push((await heard('paused', time)).at - begun);
    const trained = told.filter(({ name }) => name === 'training').length;
    client.resume();
    await heard('training', trained);
  }
  return times;
}

/** During `seconds`, counts the tasks of the main thread that take longer than 50 ms. */
function longTasks(page, seconds) {
  return page.evaluate(async (milliseconds) => {
    const durations = [];
    const observer = new PerformanceObserver((list) => durations.push(...list.getEntries().map(({ duration }) => duration)));
    observer.observe({ type: 'longtask' });
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    observer.disconnect();
    return { count: durations.length, longest: Math.max(0, ...durations) };
  }, 1000 * seconds);
}
