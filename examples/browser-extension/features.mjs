/** Converts a title to the numbers that the model reads. */

/** The length of the model's input. */
export const FEATURES = 30;

/** Counts words in 30 buckets. A hash chooses the bucket of a word, so that no list of words is needed (feature hashing). */
export function features(title) {
  const counts = new Array(FEATURES).fill(0);
  for (const word of title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    counts[hash(word) % FEATURES] += 1;
  }
  return counts;
}

/** FNV-1a, 32 bits. */
function hash(word) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(word)) {
    value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  }
  return value;
}
