/** Starts a coordinator process with its own data folder, and runs an operator's commands. */

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

import { Lines } from './lines.mjs';
import { folkmoot, root } from './paths.mjs';

const execute = promisify(execFile);
/** The time limit for starting or stopping a process. */
const PATIENCE_MILLISECONDS = 120_000;
/** The settings of the log: trouble, and each step of a round. */
const LOG = ['--log-format', 'json', '--log-level', 'warn,folkmoot_rounds=info'];

/**
 * Starts a coordinator that allows pages of this origin, with these environment variables. It serves without TLS, as it
 * would behind a proxy.
 */
export async function startCoordinator(origin, variables = {}) {
  const folder = await mkdtemp(`${tmpdir()}/folkmoot-coordinator-`);
  const coordinator = new Coordinator(folder, origin);
  coordinator.variables = variables;
  try {
    await coordinator.start();
  } catch (error) {
    await coordinator.close().catch(() => undefined);
    throw error;
  }
  return coordinator;
}

export class Coordinator {
  constructor(folder, origin) {
    Object.assign(this, { folder, origin, url: null, process: null, apiKey: null, variables: {} });
    this.population = 'digits';
    // Trouble is printed, the steps of a round are not.
    this.log = new Lines((line) => line.includes('"level":"INFO"') || console.error(line));
  }

  /** Starts the process on a free port. The port differs at each start. */
  async start() {
    const listen = ['--listen', '127.0.0.1:0', '--tls', 'off', '--allow-origin', this.origin];
    const flags = ['serve', '--json', '--data', `${this.folder}/data`, ...listen, ...LOG];
    const env = { ...process.env, ...this.variables };
    this.process = spawn(folkmoot(), flags, { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.log.follow(this.process.stderr);
    const served = await firstLine(this.process, (line) => line.event === 'serving');
    this.url = served.url;
    this.apiKey ??= served.first_api_key;
  }

  /** Waits until this many rounds of a task are committed, at most a hundred. Returns the committed rounds, oldest first. */
  async committed(task, count) {
    return this.log.until(`round ${count} of a task`, async () => {
      const rounds = await this.rounds(task);
      return rounds.length >= count ? rounds : null;
    });
  }

  /** Stops the process with a signal; SIGKILL kills it at once. */
  async stop(signal = 'SIGTERM') {
    await end(this.process, signal);
  }

  async close() {
    await this.stop('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Runs an operator's command with JSON output, and returns the parsed output. */
  async command(...flags) {
    return this.commandWith({ FOLKMOOT_API_KEY: this.apiKey }, ...flags);
  }

  /** Runs a command with JSON output and these environment variables, and returns the parsed output. */
  async commandWith(variables, ...flags) {
    const env = { ...process.env, FOLKMOOT_URL: this.url, ...variables };
    const { stdout } = await execute(folkmoot(), [...flags, '--json'], { env, cwd: this.folder });
    return JSON.parse(stdout);
  }

  async token() {
    return (await this.command('token', 'create', this.population)).token;
  }

  /**
   * From now on, uses a new population for tokens and tasks. In the old population, the clients of closed pages may
   * still be selected for some time.
   */
  newPopulation() {
    this.populations = (this.populations ?? 0) + 1;
    this.population = `digits-${this.populations}`;
  }

  /** Creates and starts a task. The keys in `change` override those of the digits task. */
  async task(change = {}, model = 'model.onnx') {
    const { plan = {}, scheduling = {}, rounds = 3, settings = '' } = change;
    const text = `
name = "digits"
population = "${this.population}"
[plan]
loss = "softmax_cross_entropy"
epochs = ${plan.epochs ?? 1}
batch_size = ${plan.batchSize ?? 16}
${plan.stepsMax === undefined ? '' : `steps_max = ${plan.stepsMax}`}
personal = ${JSON.stringify(plan.personal ?? [])}
optimizer = { sgd = { learning_rate = ${plan.learningRate ?? 0.1} } }
[scheduling]
kind = "synchronous"
report_goal = ${scheduling.reportGoal ?? 1}
minimum_cohort = ${scheduling.reportGoal ?? 1}
over_selection_factor = 1.0
reporting_deadline_seconds = ${scheduling.deadlineSeconds ?? 60}
${settings}
[stop]
rounds = ${rounds}
`;
    const file = `${this.folder}/task.toml`;
    await writeFile(file, text);
    return this.command('task', 'create', file, '--model', `${root}examples/digits/${model}`, '--activate');
  }

  /** Starts a native client that trains on these lines of the digits. `end` stops the client. */
  nativeClient(token, name, lines) {
    const data = `${this.folder}/${name}.csv`;
    const state = `${this.folder}/${name}`;
    const flags = ['client', '--coordinator', this.url, '--token', token, '--data', data, '--state', state, '--json'];
    const ready = writeFile(data, `${lines.join('\n')}\n`);
    const said = new Lines();
    let child;
    const started = ready.then(() => {
      child = spawn(folkmoot(), [...flags, '--device', 'cpu'], { cwd: this.folder, stdio: ['ignore', 'pipe', 'inherit'] });
      said.follow(child.stdout);
    });
    return {
      said,
      async end() {
        await started;
        await end(child, 'SIGTERM');
      },
    };
  }

  /** Returns the committed rounds among the newest hundred of a task, oldest first. */
  async rounds(task) {
    const rounds = await this.command('task', 'rounds', task, '--limit', '100');
    return rounds.filter((round) => round.phase === 'committed').reverse();
  }
}

/** Stops a process unless it has already exited. */
export async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  // The `close` event comes only after all output of the process has been read.
  const ended = new Promise((resolve) => child.once('close', resolve));
  const mercy = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MILLISECONDS);
  child.kill(signal);
  await ended;
  clearTimeout(mercy);
}

/** Returns the first line of a process for which `isWanted` is true. */
export async function firstLine(child, isWanted) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the process did not start in time')), PATIENCE_MILLISECONDS);
    child.once('exit', (code) => reject(new Error(`the process exited with ${code} before it was ready`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const event = JSON.parse(line);
      if (isWanted(event)) {
        clearTimeout(timer);
        resolve(event);
      }
    });
  });
}
