// The development server of Vite 7 moves a dependency whose entry ends in `.js`, and then does not find its worker. It
// leaves an entry with this ending where it is.
export * from './dist/index.js';
