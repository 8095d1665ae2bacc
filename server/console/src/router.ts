/** A minimal router with one level of routes, driven by the address bar. */

import { useEffect, useState } from 'preact/hooks';

const BASE = '/console';
const listeners = new Set<() => void>();
addEventListener('popstate', tell);

function tell(): void {
  for (const listener of listeners) listener();
}

/** The path below the console, for example `/tasks/1`. */
export function path(): string {
  const below = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : location.pathname;
  return below === '' ? '/' : below;
}

export function href(to: string): string {
  return BASE + to;
}

export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', href(to));
  else history.pushState(null, '', href(to));
  tell();
  if (!replace) scrollTo(0, 0);
}

export function usePath(): string {
  const [at, set] = useState(path() + location.search);
  useEffect(() => {
    const listener = () => set(path() + location.search);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return at;
}

/** Follows a link without reloading the page, unless the user holds a modifier key to open a new tab. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a');
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  // The browser handles links within the same page.
  if (
    !link ||
    link.getAttribute('href')?.startsWith('#') ||
    !isPlain ||
    event.defaultPrevented ||
    link.target ||
    link.hasAttribute('download')
  )
    return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(`${BASE}/`)) return;
  event.preventDefault();
  go(url.pathname.slice(BASE.length) + url.search);
}
