/** Short names for the API's types, which are generated from `server/api/openapi.json`, and helpers for them. */

import type { components } from './schema';

type S = components['schemas'];

export type ApiKey = S['ApiKeyView'];
export type AuditPage = S['AuditPageView'];
export type CheckTask = S['CheckTaskView'];
export type ClassEvaluation = S['ClassEvaluationView'];
export type Client = S['ClientView'];
export type Clients = S['ClientsView'];
export type CreatedApiKey = S['CreatedApiKey'];
export type CreatedToken = S['CreatedToken'];
export type Evaluation = S['EvaluationView'];
export type Fault = S['FaultView'];
export type Lane = S['LaneView'];
export type LedgerEntry = S['EntryView'];
export type Model = S['ModelView'];
export type ModelGraph = S['ModelGraphView'];
export type ModelParts = S['ModelPartsView'];
export type ModelPiece = S['ModelPieceView'];
export type ModelSummary = S['ModelSummary'];
export type Overview = S['OverviewView'];
export type Population = S['PopulationView'];
export type OpenSession = S['OpenSessionView'];
export type Problem = S['Problem'];
export type Providers = S['ProvidersView'];
export type RevokedClient = S['RevokedClient'];
export type Rollout = S['RolloutView'];
export type Round = S['RoundView'];
export type RoundAssignments = S['RoundAssignmentsView'];
export type Awaited = S['AwaitedView'];
export type CommitScores = S['CommitScoresView'];
export type RoundFunnel = S['RoundFunnelView'];
export type RoundStats = S['RoundStatsView'];
export type Series = S['SeriesView'];
export type SeriesPoint = S['SeriesPoint'];
export type Session = S['SessionView'];
export type Share = S['ShareView'];
export type Site = S['SiteView'];
export type Sites = S['SitesView'];
export type SignedOut = S['SignedOutView'];
export type Statement = S['Statement'];
export type System = S['SystemView'];
/** `description` has the shape of a task file: `server/api/task.schema.json`. */
export type Task = Omit<S['TaskView'], 'description'> & { description: Record<string, unknown> };
export type TaskSummary = S['TaskSummary'];
export type Token = S['TokenView'];
export type Version = S['VersionView'];

/** The text of an audit entry, as JSON. */
export interface AuditRecord {
  number: number;
  at: number;
  by: string;
  from: string | null;
  action: string;
  subject: string;
  changes: { what: string; before: string | null; after: string | null }[];
}

/** The response of `POST /v1/admin/privacy/plan`, the same JSON as from `folkmoot privacy plan --json`. */
export interface Planned {
  intention: { delta: number; epsilon: number; clients: number; rounds: number };
  forecast: {
    noise_multiplier: { value: number };
    noise_to_signal: number;
    noise_to_signal_over_rounds: number;
    mean_noise_deviation: number;
    epsilon_curve: [number, number][];
    verdict: 'harmless' | 'costly' | 'hopeless';
    advice: unknown[];
  };
}

/** Returns whether a round in this phase has ended. */
export function isOver(round: { phase: string }): boolean {
  return ['committed', 'evaluated', 'abandoned'].includes(round.phase);
}
