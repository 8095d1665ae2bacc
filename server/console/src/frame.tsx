/** The navigation around every view. On a phone it is at the bottom of the screen, where a thumb reaches it. */

import { useState } from 'preact/hooks';

import { get, isRefusal, send } from './api/client';
import type { Session, SignedOut } from './api/types';
import { Action } from './components';
import { Icon, type IconName, Mark } from './components/icons';
import { words } from './format';
import { useConnection } from './live';
import { usePath } from './router';
import { may, signedIn, signedOut } from './session';
import { chooseDensity, chooseTheme, type Density, type Theme, useDensity, useTheme } from './theme';

const PLACES: { to: string; name: string; icon: IconName; role: 'viewer' | 'operator' }[] = [
  { to: '/', name: 'Overview', icon: 'overview', role: 'viewer' },
  { to: '/tasks', name: 'Tasks', icon: 'tasks', role: 'viewer' },
  { to: '/clients', name: 'Clients', icon: 'clients', role: 'viewer' },
  { to: '/models', name: 'Models', icon: 'models', role: 'viewer' },
  { to: '/privacy', name: 'Privacy', icon: 'privacy', role: 'viewer' },
  { to: '/access', name: 'Access', icon: 'access', role: 'viewer' },
  { to: '/system', name: 'System', icon: 'system', role: 'operator' },
];
const SAID = { live: 'Live', polling: 'Updating every 3 s', off: 'Not connected' };

export function Frame({ session }: { session: Session }) {
  const at = usePath().split('?')[0] ?? '/';
  const connection = useConnection();
  const [isOpen, setOpen] = useState(false);
  const isHere = (to: string) => (to === '/' ? at === '/' : at.startsWith(to));
  return (
    <header class="side">
      <div class="side-head">
        <a class="brand" href="/console/" aria-label="Folkmoot, to the overview">
          <Mark />
          <strong>Folkmoot</strong>
        </a>
        <span class={`connection ${connection}`} role="status">
          {SAID[connection]}
        </span>
        <button type="button" class="button menu" aria-expanded={isOpen} aria-controls="settings" onClick={() => setOpen(!isOpen)}>
          <Icon name="menu" /> <span class="hidden">Settings of this page</span>
        </button>
      </div>
      <nav aria-label="Main">
        {PLACES.filter(({ role }) => may(role)).map(({ to, name, icon }) => (
          <a key={to} href={`/console${to}`} {...(isHere(to) ? { 'aria-current': 'page' as const } : {})}>
            <Icon name={icon} />
            <span>{name}</span>
          </a>
        ))}
      </nav>
      <div id="settings" class={isOpen ? 'who is-open' : 'who'}>
        <span title={session.person ? `${session.person.provider}: ${session.person.subject}` : `API key ${session.api_key_id}`}>
          {session.person?.name ?? session.api_key_name} ({words(session.role)})
        </span>
        <Choices />
        <Action act={end}>Sign out</Action>
      </div>
    </header>
  );
}

const COLOURS: Record<Theme, string> = { system: 'System colours', light: 'Light', dark: 'Dark' };
const DENSITIES: Record<Density, string> = { comfortable: 'Comfortable', compact: 'Compact' };

/** The colours and the density of this browser. */
function Choices() {
  return (
    <>
      <Choice label="Colours" names={COLOURS} chosen={useTheme()} choose={chooseTheme} />
      <Choice label="Density" names={DENSITIES} chosen={useDensity()} choose={chooseDensity} />
    </>
  );
}

type ChoiceProps<T extends string> = { label: string; names: Record<T, string>; chosen: T; choose: (value: T) => void };

function Choice<T extends string>({ label, names, chosen, choose }: ChoiceProps<T>) {
  return (
    <label>
      <span class="hidden">{label}</span>
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value as T)}>
        {Object.entries<string>(names).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

async function end(): Promise<void> {
  let out: SignedOut | undefined;
  try {
    out = await send<SignedOut | undefined>('DELETE', '/session');
  } catch (caught) {
    if (!isRefusal(caught as Error)) throw caught;
    // Another tab may have signed in again and changed the token: end the session that exists now.
    const now = await get<Session>('/session').catch((error: Error) => (isRefusal(error) ? null : Promise.reject(error)));
    if (now) {
      signedIn(now);
      out = await send<SignedOut | undefined>('DELETE', '/session');
    }
  }
  signedOut();
  if (out) location.assign(out.provider_url);
}
