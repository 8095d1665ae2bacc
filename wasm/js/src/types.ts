import type { Trainer } from './page/trainer.js';

/**
 * The settings of a client. `coordinator` is required, `examples` unless there is a `trainer`, and `enrolmentToken` until
 * the client is enrolled. All other settings have defaults.
 */
export type ConnectOptions = CommonOptions & (EngineOptions | TrainerOptions);

/** Options for training in the engine. */
export interface EngineOptions {
  /** The form of an example. */
  examples: ExampleFormat;
  trainer?: undefined;
}

/** Options for training in the app's own loop. */
export interface TrainerOptions {
  /** The app's own training loop, used instead of the engine. */
  trainer: Trainer;
  /** The form of an example, for evaluations that the loop leaves to the engine. */
  examples?: ExampleFormat;
}

/** The options of every client. */
export interface CommonOptions {
  /** The coordinator's address: `https://host[:port]`, or `http://` for this machine only. */
  coordinator: string;
  /** The enrolment token from the operator. Needed until the client is enrolled. */
  enrolmentToken?: string;
  /** Distinguishes the clients of one origin. Default: `default`. */
  name?: string;
  /** Attributes that the coordinator uses to decide eligibility. */
  attributes?: Record<string, string>;
  /**
   * Attributes that never leave the device. The client evaluates the device rules of plans with them. They are never
   * sent or stored.
   */
  privateAttributes?: Record<string, string>;
  /**
   * Called for each assignment after its plan has arrived. By default, all assignments whose device rules hold are
   * accepted.
   */
  askBefore?: (assignment: AssignmentOffer) => boolean | Promise<boolean>;
  /**
   * Ed25519 public keys (base64, at most 8). The client takes part only in tasks that one of them has endorsed for this
   * coordinator, and uses only their models. By default, it takes part in every task.
   */
  endorsementKeys?: string[];
  /** The channel whose models `updateModel` fetches, such as `beta` for testers. Default: `stable`. */
  channel?: string;
  /** The device to train on. Default: `auto`, the faster of CPU and WebGPU for the current plan. */
  device?: 'auto' | 'cpu' | 'webgpu';
  /** The conditions under which training pauses; see {@link Policy}. */
  policy?: Policy;
  /** Limits on traffic, training time and the cost of assignments; see {@link Limits}. */
  limits?: Limits;
  /** Seconds that a check-in waits for an assignment, at most 60. Default: 30. */
  waitSeconds?: number;
  /**
   * The address of `dist/worker.js` of this package, beside the other files of `dist`, on the page's own origin. Needed
   * only with bundlers that do not find the worker themselves, such as esbuild.
   */
  workerUrl?: string | URL;
}

/** The form of an example and its label, and storage limits. */
export interface ExampleFormat {
  /** The shape of one example's features. */
  shape: number[];
  /** Class numbers or target values. Default: `classes`. */
  labels?: 'classes' | 'targets';
  /** Labels per example. Default: 1. */
  labelsPerExample?: number;
  /** The maximum number of bytes of stored examples. The oldest are deleted first. Default: 64 MiB. */
  bytesMax?: number;
  /** The number of days after which an example is deleted. Default: never. */
  expiresAfterDays?: number;
}

/** One example. */
export interface Example {
  features: Float32Array | number[];
  label: number | number[];
}

/** The conditions under which training pauses. A condition that the browser does not report never pauses training. */
export interface Policy {
  /** Pause while the page is hidden. Default: false. */
  pauseWhenHidden?: boolean;
  /** Pause if the user has enabled data saving. Default: true. */
  respectSaveData?: boolean;
  /** Pause on a cellular connection. A connection of unknown type counts as unmetered. Default: true. */
  requiresUnmetered?: boolean;
  /** Pause below this battery level, unless charging. In percent, 0 to 100. Default: 20. */
  batteryPercentMin?: number;
  /** The share of the time that training may use, 0.05 to 1. Default: 1. */
  cpuShare?: number;
  /** The number of seconds of pause after which the client gives up its assignment. Default: 30. */
  giveUpAfterSeconds?: number;
}

/** Limits on traffic, training time and the cost of assignments. */
export interface Limits {
  /**
   * The maximum number of bytes per day (UTC), sent and received: the bodies of requests, blobs and updates. An
   * assignment that would exceed it is declined, and the client asks for the next one when the new day begins. Default:
   * no limit.
   */
  bytesPerDay?: number;
  /** The maximum memory of a training or an evaluation, in bytes. Default: 2 GiB. */
  memoryBytesMax?: number;
  /**
   * The maximum size of model and weights, in bytes. A larger model is declined before it is fetched. Default: 1 GiB.
   */
  modelBytesMax?: number;
  /**
   * The maximum number of seconds of training in one assignment. When the time is up, the client sends what it has.
   * Default: 3,600.
   */
  trainingSecondsMax?: number;
  /** The maximum number of parameters of a model. Default: 268,435,456. */
  parametersMax?: number;
  /** The maximum number of operations in a model's graph. Default: 200,000. */
  operationsMax?: number;
  /**
   * The minimum number of clients whose updates a released version must combine. The client compares it with the number
   * that the coordinator states for the assignment, and declines an assignment without such a number. Default: 0, which
   * accepts every assignment.
   */
  cohortMin?: number;
  /**
   * The weakest protection by noise that the client accepts for its update. `central` is the coordinator's promise,
   * which a client cannot check. With `distributed`, the client adds a share of the noise and masks its update. With
   * `local`, the client adds the noise itself. Default: `none`.
   */
  protectionMin?: 'none' | 'central' | 'distributed' | 'local';
}

/** An assignment, as shown to the app before the client accepts it. */
export interface AssignmentOffer {
  assignmentId: string;
  taskId: string;
  roundNumber: number;
  baseVersion: number;
  /** The maximum number of bytes that would still be downloaded. */
  downloadBytes: number;
  /** The approximate size of the update in bytes, before entropy coding. */
  uploadBytes: number;
  plan: Plan;
}

/**
 * A plan, as sent by the coordinator. Its fields have the names of the coordinator's JSON, in snake_case. A plan has
 * more than these fields.
 */
export interface Plan {
  /** Default: `training`. */
  work?: 'training' | 'evaluation';
  training: {
    loss: unknown;
    optimizer: unknown;
    epochs: number;
    batch_size: number;
    time_limit_seconds?: number | null;
    clusters?: unknown;
    elastic_averaging?: unknown;
    model_contrast?: unknown;
    personal_training?: { apfl?: unknown; [kind: string]: unknown } | null;
    [setting: string]: unknown;
  };
  /** The fine-tuning of an evaluation, after which the client measures again. */
  fine_tuning?: { epochs: number; learning_rate: number; held_out_share?: number } | null;
  [field: string]: unknown;
}

/** An entry of the transparency log. */
export interface LogEntry {
  /** The time of the action, in milliseconds since 1970. */
  at: number;
  /** The action. For `declined`, the detail names the exceeded limit, which the coordinator does not learn. */
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
  /**
   * The number of bytes sent. The entry for an update, or for a message of secure aggregation, is written before it is
   * sent, with the full size.
   */
  bytesSent: number;
  /** For an interrupted upload, the number of bytes that arrived, according to the coordinator. */
  bytesArrived?: number;
  /** The number of bytes received. */
  bytesReceived: number;
  taskId?: string;
  roundNumber?: number;
  /** Details for people to read. */
  detail?: string;
}

/** The outputs of a model on this device. */
export interface Prediction {
  outputs: Float32Array;
  /** The shape of one row of outputs. */
  shape: number[];
}

/** A model that the operator has rolled out to this device, and that predictions use. */
export interface ModelUpdate {
  /** The number of the rollout, from 1. */
  rollout: number;
  /** The task that trained the model. */
  taskId: string;
  /** The number of the model version. */
  version: number;
  /** True if this update brought the model, false if it was there already. */
  isNew: boolean;
}

/**
 * The events of a client: `client.on(name, listener)`. Their fields are in camelCase. Codes, such as a `reason`, are in
 * snake_case, as the coordinator writes them.
 */
export interface ClientEvents {
  enrolled: { clientId: string; population: string };
  /** The client waits until this time, in milliseconds since 1970. */
  waiting: { until: number };
  /** The client was selected for a round. */
  assigned: { assignmentId: string; taskId: string; roundNumber: number; baseVersion: number };
  /** The device of the training: `cpu`, or an adapter's name. Sent again if the adapter fails. */
  device: { assignmentId: string; device: string; fault?: string };
  training: { assignmentId: string; step: number; stepsTotal: number; loss: number };
  evaluating: {
    assignmentId: string;
    metrics: { exampleCount: number; lossSum: number; correctCount: number };
    examplesTotal: number;
  };
  uploading: { assignmentId: string; total: number };
  /** The coordinator accepted the update for this round. */
  round: {
    assignmentId: string;
    roundNumber: number;
    report: { trainingMilliseconds: number; downloadBytes: number; uploadBytes: number };
  };
  aborted: { assignmentId: string; reason: string; detail: string };
  dropped: { assignmentId: string; detail: string };
  backingOff: { until: number; failures: number; detail: string };
  /** A newer model for predictions has arrived. */
  model: Record<string, never>;
  paused: { reason: string };
  resumed: Record<string, never>;
  /** Another tab of this client is training. This tab takes over when the other one is closed. */
  standby: Record<string, never>;
  /** The client has stopped. It does not continue until `start` is called again. */
  stopped: { reason: string; detail: string };
}

/** Why something failed. The codes are stable. */
export type ErrorCode =
  | 'unsupported_browser'
  | 'load_failed'
  | 'bad_option'
  | 'bad_example'
  | 'consent_needed'
  | 'not_enrolled'
  | 'refused'
  | 'storage_full'
  | 'storage_failed'
  | 'no_model'
  | 'model_unusable'
  | 'forgotten'
  | 'internal';

/** The error class of this package. */
export class FolkmootError extends Error {
  override readonly name = 'FolkmootError';
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}
