/** What an app says when it connects. */
export interface ConnectOptions {
  /** The coordinator's address: `https://host[:port]`; `http://` for this machine only. */
  coordinator: string;
  /** The token that the operator gave to the app. Needed until the client is enrolled. */
  enrolmentToken?: string;
  /** Tells clients of one origin apart; `default` without it. */
  name?: string;
  /** What an example looks like. */
  examples: ExampleFormat;
  /** What the app tells the coordinator, for eligibility. */
  attributes?: Record<string, string>;
  /** What device rules of plans are evaluated with, here. It is never sent and never stored. */
  privateAttributes?: Record<string, string>;
  /** Asked before each assignment, when its plan has come; without it, all whose rules hold are taken. */
  askBefore?: (assignment: AssignmentOffer) => boolean | Promise<boolean>;
  /** Where to train: where a step is faster without this. */
  device?: 'auto' | 'cpu' | 'webgpu';
  /** When to train; see {@link Policy}. */
  policy?: Policy;
  /** How much to use, and what to decline; see {@link Limits}. */
  limits?: Limits;
  /** How long a check-in waits for an assignment, in seconds, at most 60; 30 without this. */
  waitSeconds?: number;
}

/** The shape of an example and its label, and what may be kept. */
export interface ExampleFormat {
  /** The dimensions of one example's features. */
  shape: number[];
  /** Class numbers, or target values; `classes` without this. */
  labels?: 'classes' | 'targets';
  /** Labels of one example; 1 without this. */
  labelsPerExample?: number;
  /** Bytes that are kept; the oldest example goes first. 64 MiB without this. */
  bytesMax?: number;
  /** Days after which an example is deleted; never without this. */
  expiresAfterDays?: number;
}

/** One example. */
export interface Example {
  features: Float32Array | number[];
  label: number | number[];
}

/** When training rests. What the browser does not tell counts as fine. */
export interface Policy {
  /** Rest while the page is hidden; goes on without this. */
  pauseWhenHidden?: boolean;
  /** Rest where the user asked to save data; true without this. */
  respectSaveData?: boolean;
  /** Rest on a cellular link; true without this. */
  pauseOnMetered?: boolean;
  /** Rest below this charge unless it is charging, 0 to 1; 0.2 without this. */
  batteryMin?: number;
  /** The part of the time that training may take, 0.05 to 1; 1 without this. */
  cpuShare?: number;
  /** Seconds of rest after which an assignment is given up; 30 without this. */
  giveUpAfterSeconds?: number;
}

/** How much this device may use, and what it declines. */
export interface Limits {
  /**
   * Bytes in a day (UTC), both ways together: the bodies of requests, blobs and updates. An assignment that would pass it is
   * declined, and the next one is asked for when the day is over. No limit without this.
   */
  bytesPerDay?: number;
  /** Bytes of memory that a training or an evaluation may hold; 2 GiB without this. */
  memoryBytesMax?: number;
  /** Bytes of the model and its weights, which are declined before they are fetched; 1 GiB without this. */
  modelBytesMax?: number;
  /** Seconds of training in one assignment; 3,600 without this. What was trained until then is sent. */
  trainingSecondsMax?: number;
  /** Parameters of a model; 268,435,456 without this. */
  parametersMax?: number;
  /** Operations of a model's graph; 200,000 without this. */
  operationsMax?: number;
  /** How many clients' updates a released version has to combine, by the coordinator's word; any number without this. */
  cohortMin?: number;
  /**
   * Where noise has to be added that hides this client's update: `central` is the coordinator's promise, which a client cannot
   * check; with `local` the client adds it itself. Nowhere without this.
   */
  protectionMin?: 'none' | 'central' | 'local';
}

/** What is known of an assignment when the app is asked. */
export interface AssignmentOffer {
  assignmentId: string;
  taskId: string;
  roundNumber: number;
  baseVersion: number;
  /** Bytes that are still to be fetched, at most. */
  downloadBytes: number;
  /** About how many bytes the update will have, before symbols are entropy-coded. */
  uploadBytes: number;
  /** The plan, as the coordinator wrote it. */
  plan: unknown;
}

/** An entry of the transparency log. */
export interface LogEntry {
  /** Milliseconds since 1970. */
  at: number;
  /** What was done. The detail of `declined` names the limit, which the coordinator is not told. */
  action:
    | 'enrolled'
    | 'asked'
    | 'fetched'
    | 'trained'
    | 'evaluated'
    | 'sent'
    | 'reported'
    | 'declined'
    | 'gave_up'
    | 'told_gave_up'
    | 'consent';
  /** Bytes that left the device. An update is noted before it goes, with all that is to go. */
  bytesSent: number;
  /** Of an update whose sending broke off: those that have arrived, by the coordinator's word. */
  bytesArrived?: number;
  /** Bytes that came. */
  bytesReceived: number;
  taskId?: string;
  roundNumber?: number;
  /** More for humans. */
  detail?: string;
}

/** The outputs of the newest model that this device has. */
export interface Prediction {
  outputs: Float32Array;
  /** The dimensions of one row of it. */
  shape: number[];
}

/** Everything that a client tells; `client.on(name, listener)`. */
export interface ClientEvents {
  enrolled: { client_id: string; population: string };
  /** Nothing is to be done until then. */
  waiting: { until: number };
  /** Drawn for a round. */
  assigned: { assignment_id: string; task_id: string; round_number: number; base_version: number };
  /** Where the training runs: `cpu`, or an adapter's name. Told again if the adapter fails. */
  device: { assignment_id: string; device: string; fault?: string };
  training: { assignment_id: string; step: number; steps_total: number; loss: number };
  evaluating: {
    assignment_id: string;
    metrics: { example_count: number; loss_sum: number; correct_count: number };
    examples_total: number;
  };
  uploading: { assignment_id: string; total: number };
  /** The update was accepted and counts in this round. */
  round: {
    assignment_id: string;
    round_number: number;
    report: { training_milliseconds: number; download_bytes: number; upload_bytes: number };
  };
  aborted: { assignment_id: string; reason: string; detail: string };
  dropped: { assignment_id: string; detail: string };
  backing_off: { until: number; failures: number; detail: string };
  /** A newer model came, to predict with. */
  model: Record<string, never>;
  paused: { reason: string };
  resumed: Record<string, never>;
  /** Another tab of this client trains; this one takes over when it is closed. */
  standby: Record<string, never>;
  /** It does not go on until `start` is called again. */
  stopped: { reason: string; detail: string };
}

/** Why something failed, in words that do not change. */
export type ErrorCode =
  | 'unsupported_browser'
  | 'bad_option'
  | 'bad_example'
  | 'consent_needed'
  | 'not_enrolled'
  | 'refused'
  | 'storage_full'
  | 'storage_failed'
  | 'no_model'
  | 'forgotten'
  | 'internal';

/** What this package throws. */
export class FolkmootError extends Error {
  override readonly name = 'FolkmootError';
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}
