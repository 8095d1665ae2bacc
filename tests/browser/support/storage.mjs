/** Reads the data that a page's client stores in IndexedDB. */

import { until } from './world.mjs';

/** Returns the value with this key in a store. */
export function stored(page, store, key) {
  return page.evaluate(
    async ([name, store, key]) => {
      const request = indexedDB.open(`folkmoot-${name}`);
      await new Promise((resolve) => (request.onsuccess = resolve));
      const get = request.result.transaction(store).objectStore(store).get(key);
      await new Promise((resolve) => (get.onsuccess = resolve));
      request.result.close();
      return get.result;
    },
    [page.options.name, store, key],
  );
}

/** Returns the number of rows in each store. */
export function rowCounts(page) {
  return page.evaluate(async (name) => {
    const request = indexedDB.open(`folkmoot-${name}`);
    await new Promise((resolve) => (request.onsuccess = resolve));
    const stores = Array.from(request.result.objectStoreNames);
    const transaction = request.result.transaction(stores);
    const counts = stores.map((store) => transaction.objectStore(store).count());
    await new Promise((resolve) => (transaction.oncomplete = resolve));
    request.result.close();
    return Object.fromEntries(stores.map((store, index) => [store, counts[index].result]));
  }, page.options.name);
}

/** Waits until the client's stored session is in one of these states. */
export async function sessionIs(page, ...states) {
  await until(async () => {
    const { session } = JSON.parse(await stored(page, 'state', 'session'));
    return states.includes(session.state.state) ? true : null;
  });
}
