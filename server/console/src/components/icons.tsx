/** The console's own icons and mark: drawn on a grid of 16, in the colour of the text around them. */

/** Paths of strokes that are 1.5 wide. */
const PATHS = {
  overview: 'M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 10.5H7v3H2.5z',
  tasks: 'M2.5 2.5v11h11M5 10.5c2-.2 2.4-4 4.2-4.4 1.3-.3 2-2 3.8-2.1',
  clients:
    'M8 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM4.5 13.5c0-2.3 1.5-3.8 3.5-3.8s3.5 1.5 3.5 3.8M2 11c.1-1.3.7-2.2 1.6-2.7M14 11c-.1-1.3-.7-2.2-1.6-2.7',
  models: 'M8 1.8l5.5 3v6.4L8 14.2l-5.5-3V4.8zM2.7 5L8 7.9 13.3 5M8 7.9v6',
  privacy: 'M8 1.8l5 1.8v4c0 3-2 5.3-5 6.6-3-1.3-5-3.6-5-6.6v-4zM5.8 7.8l1.6 1.6 2.9-3',
  access: 'M5.5 13.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.7 8.3l5.8-5.8M10.5 5.5l2 2',
  system: 'M1.8 8.5h3l1.7-5 3 9.5 1.7-4.5h3',
  learning: 'M2 12c2.5 0 3-6 5.5-6.5 1.7-.3 3-.5 6.5-3M10.5 2.5H14V6',
  waiting: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 4.7V8l2.3 1.5',
  warning: 'M8 2.2l6.2 11H1.8zM8 6.5v3M8 11.4v.1',
  stop: 'M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.5M8 10.9v.1',
  finished: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM5.4 8.2l1.9 1.9 3.4-3.9',
  paused: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM6.5 6v4M9.5 6v4',
  draft: 'M10.5 2.5l3 3-8 8h-3v-3zM8.5 4.5l3 3',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  up: 'M8 13V3.5M4 7.5l4-4 4 4',
  down: 'M8 3v9.5M4 8.5l4 4 4-4',
} as const;

export type IconName = keyof typeof PATHS;

/** An icon beside a text that says the same. It is hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The logo: people in two half circles around a speaker. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="18" r="3.2" />
      <circle cx="6" cy="14.5" r="1.7" />
      <circle cx="8.6" cy="10.8" r="1.7" />
      <circle cx="12" cy="9.5" r="1.7" />
      <circle cx="15.4" cy="10.8" r="1.7" />
      <circle cx="18" cy="14.5" r="1.7" />
      <path d="M1.7 14.2a10.8 10.8 0 0 1 20.6 0" />
    </svg>
  );
}
