/** Starts the members of a committee, and configures a coordinator with their addresses. */

import { spawn } from 'node:child_process';

import { end, firstLine } from './coordinator.mjs';
import { folkmoot } from './paths.mjs';

/** Starts `count` members. `settings` belong to the task, `variables` to the coordinator's environment. */
export async function startCommittee(folder, count) {
  const members = await Promise.all(Array.from({ length: count }, (_, index) => startMember(`${folder}/member-${index}`)));
  const configs = members.map(({ served }) => ({ key: served.key, url: served.url, token_file: served.token_file }));
  return {
    variables: { FOLKMOOT_COMMITTEE_MEMBERS: JSON.stringify(configs) },
    settings: `[protection.committee]\nmembers = ${JSON.stringify(configs.map(({ key }) => key))}`,
    close: () => Promise.all(members.map(({ child }) => end(child, 'SIGTERM'))),
  };
}

async function startMember(data) {
  const flags = ['serve', '--role', 'committee', '--data', data, '--listen', '127.0.0.1:0', '--tls', 'off', '--json'];
  const child = spawn(folkmoot(), flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  const served = await firstLine(child, (line) => line.event === 'serving');
  return { child, served };
}
