/** The operator's keys and endorsements. */

/** Creates a key. Returns its file and its public key. */
export async function createKey({ coordinator }, name) {
  const file = `${coordinator.folder}/${name}.pem`;
  const { public_key: publicKey } = await coordinator.command('endorsement', 'key', '--out', file);
  return { file, publicKey };
}

/** Signs what a task gives to clients with the key in a file, and publishes it. */
export async function endorse({ coordinator, network }, task, key) {
  const folder = `${coordinator.folder}/${task}`;
  await coordinator.command('endorsement', 'prepare', task, '--out', folder, '--for', network.url);
  await coordinator.command('endorsement', 'sign', folder, '--key', key);
  const { endorsement } = await coordinator.command('endorsement', 'publish', folder);
  return endorsement;
}
