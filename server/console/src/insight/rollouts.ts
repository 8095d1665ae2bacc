/** Says in words which devices get which model version. */

import type { Rollout } from '../api/types';

/** A version for a share of a channel's devices. A rollout that is not created yet has no number. */
export type Offer = Pick<Rollout, 'channel' | 'task_id' | 'version' | 'share'> & { number?: number };

/** Some of a population's rollouts, newest first. */
export interface Listed {
  rollouts: Rollout[];
  /** Whether there are no newer ones. */
  isFirst: boolean;
  /** Whether there are no older ones. */
  isLast: boolean;
}

/** Groups rollouts by channel, ordered by its name. Keeps the order within each channel. */
export function byChannel(rollouts: Rollout[]): [string, Rollout[]][] {
  const channels = [...new Set(rollouts.map(({ channel }) => channel))].sort();
  return channels.map((name) => [name, rollouts.filter(({ channel }) => channel === name)]);
}

/** Converts a share to percent, as exactly as the coordinator stores it: in millionths. */
export function inPercent(share: number): number {
  return Math.round(1e6 * share) / 1e4;
}

export function shareText(share: number): string {
  return `${inPercent(share)} %`;
}

/** Parses a share that was typed in percent. Returns `null` if it is not a number from 0 to 100. */
export function typedShare(percent: string): number | null {
  const share = percent.trim() === '' ? Number.NaN : Number(percent) / 100;
  return share >= 0 && share <= 1 ? share : null;
}

/** Says what will happen if an operator makes this offer. */
export function offerText(offer: Offer, listed: Listed): string {
  const { channel, version, share } = offer;
  if (share === 0) return `No device of channel ${channel} gets version ${version}.`;
  const unless = isBehindOthers(offer, listed) ? ', unless a newer rollout includes them' : '';
  const verb = offer.number === undefined ? 'keep' : 'get';
  const others = instead(offer, listed);
  const rest = others ? `the others ${verb} ${others}` : 'the others get no rolled-out model';
  if (share === 1) return `All devices of channel ${channel} get version ${version} when their app next asks${unless}.`;
  return `${shareText(share)} of the devices of channel ${channel} get version ${version} when their app next asks${unless}; ${rest}.`;
}

/** Says what will happen if an operator holds this rollout. */
export function holdText(rollout: Offer, listed: Listed): string {
  const others = instead(rollout, listed);
  return others
    ? `Devices that have version ${rollout.version} return to ${others} when their app next asks.`
    : `Devices that have version ${rollout.version} have no rolled-out model any more when their app next asks.`;
}

/** Says whether devices may get a rollout's version, and why not. */
export function stateText({ channel, number, held }: Rollout, { rollouts }: Listed): string {
  if (held) return `held: ${held}`;
  const newer = rollouts.find((one) => one.channel === channel && one.number > number && !one.held && one.share === 1);
  return newer ? `open, but rollout ${newer.number} reaches all devices` : 'open';
}

/** Whether devices of this offer's channel are first compared with newer rollouts. */
function isBehindOthers({ channel, number }: Offer, { rollouts, isFirst }: Listed): boolean {
  if (number === undefined) return false;
  return !isFirst || rollouts.some((one) => one.channel === channel && one.number > number && !one.held && one.share > 0);
}

/** Names the version that devices get if they do not get this one. Returns `null` if there is none. */
function instead({ channel, task_id, number = Infinity }: Offer, { rollouts, isLast }: Listed): string | null {
  const older = rollouts.find((one) => one.channel === channel && one.number < number && !one.held && one.share > 0);
  if (older?.share === 1) return older.task_id === task_id ? `version ${older.version}` : `version ${older.version} of another task`;
  return older || !isLast ? 'the version of an older rollout, if one includes them' : null;
}
