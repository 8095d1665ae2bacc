import { render } from 'preact';

import { App } from './app';
import { applyChoices } from './theme';
import './style/index.css';

applyChoices();
const root = document.getElementById('app');
if (root) render(<App />, root);
