/** The light or dark theme: the system's setting, unless the user chooses one. */

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'folkmoot.theme';
const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', tell);

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function chooseTheme(chosen: Theme): void {
  if (chosen === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  applyTheme();
}

export function applyTheme(): void {
  const chosen = theme();
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
  tell();
}

/** Calls `listener` whenever the colours change. Returns a function that removes the listener. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
