/** A chart of two lines over the rounds, redrawn for each round. */

const NAMESPACE = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 220, 44, 44, 12, 28];

/** Draws accuracies (0 to 1, left) and losses (right) over the rounds. */
export function draw(svg, rounds) {
  const last = Math.max(1, ...rounds.map(({ round }) => round));
  const lossMax = Math.max(0.5, ...rounds.map(({ loss }) => loss ?? 0));
  const x = (round) => LEFT + ((WIDTH - LEFT - RIGHT) * round) / last;
  const y = (share) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share;
  const parts = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(element('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }));
    parts.push(element('text', { x: LEFT - 6, y: y(share) + 4, 'text-anchor': 'end' }, `${100 * share} %`));
    parts.push(element('text', { x: WIDTH - RIGHT + 6, y: y(share) + 4 }, (lossMax * share).toFixed(2)));
  }
  const every = Math.ceil(last / 12);
  for (let round = every; round <= last; round += every) {
    parts.push(element('text', { x: x(round), y: HEIGHT - 8, 'text-anchor': 'middle' }, String(round)));
  }
  const lines = { accuracy: ({ accuracy }) => accuracy, loss: ({ loss }) => (loss === null ? null : loss / lossMax) };
  for (const [name, share] of Object.entries(lines)) {
    const known = rounds.filter((round) => share(round) !== null);
    const points = known.map((round) => `${x(round.round)},${y(share(round))}`).join(' ');
    parts.push(element('polyline', { points, class: name }));
    for (const round of known) {
      parts.push(element('circle', { cx: x(round.round), cy: y(share(round)), r: 3, class: name }));
    }
  }
  svg.replaceChildren(...parts);
}

function element(name, attributes, text = '') {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.textContent = text;
  return made;
}
