/** The user's choices of colours and density, which this browser remembers, and the width of the screen. */

import { useEffect, useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';
export type Density = 'comfortable' | 'compact';

const THEME = 'folkmoot.theme';
const DENSITY = 'folkmoot.density';
const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');
/** The width at which the style sheet moves the navigation to the bottom of the screen. */
const narrow = matchMedia('(max-width: 40rem)');
for (const query of [system, narrow]) query.addEventListener('change', tell);

function theme(): Theme {
  const kept = localStorage.getItem(THEME);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

function density(): Density {
  return localStorage.getItem(DENSITY) === 'compact' ? 'compact' : 'comfortable';
}

export function chooseTheme(chosen: Theme): void {
  if (chosen === 'system') localStorage.removeItem(THEME);
  else localStorage.setItem(THEME, chosen);
  applyChoices();
}

export function chooseDensity(chosen: Density): void {
  if (chosen === 'comfortable') localStorage.removeItem(DENSITY);
  else localStorage.setItem(DENSITY, chosen);
  applyChoices();
}

export function applyChoices(): void {
  const { dataset } = document.documentElement;
  const chosen = theme();
  if (chosen === 'system') delete dataset['theme'];
  else dataset['theme'] = chosen;
  dataset['density'] = density();
  tell();
}

/** Calls `listener` whenever the colours, the density or the kind of screen change. Returns a function that removes it. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}

function useChoice<T>(read: () => T): T {
  const [value, set] = useState(read);
  useEffect(() => onTheme(() => set(read())), []);
  return value;
}

export function useTheme(): Theme {
  return useChoice(theme);
}

export function useDensity(): Density {
  return useChoice(density);
}

/** Returns whether the screen is as narrow as a phone. */
export function useNarrow(): boolean {
  return useChoice(() => narrow.matches);
}
