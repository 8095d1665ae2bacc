/** Watches conditions of the device and the page that a worker cannot see. */

import type { Policy } from '../types.js';

interface Battery extends EventTarget {
  charging: boolean;
  level: number;
}

interface Connection extends EventTarget {
  saveData?: boolean;
  type?: string;
}

type Hints = Navigator & { getBattery?: () => Promise<Battery>; connection?: Connection };

const BATTERY_PERCENT_MIN = 20;

/** Reports the reason why training should pause, and each change of the reason. */
export class Conditions {
  private readonly ended = new AbortController();
  private readonly hints = navigator as Hints;
  private battery: Battery | null = null;
  private pagesReason: string | null = null;
  private readonly wakers: (() => void)[] = [];

  constructor(
    private policy: Policy,
    private readonly onChange: (reason: string | null, cpuShare: number) => void,
  ) {
    const options = { signal: this.ended.signal };
    const tell = () => this.tell();
    document.addEventListener('visibilitychange', tell, options);
    this.hints.connection?.addEventListener('change', tell, options);
    void this.hints.getBattery?.().then(
      (battery) => {
        this.battery = battery;
        battery.addEventListener('levelchange', tell, options);
        battery.addEventListener('chargingchange', tell, options);
        tell();
      },
      () => undefined,
    );
    tell();
  }

  /** Sets the page's own reason to pause, or null to end that pause. */
  setPagesReason(reason: string | null): void {
    this.pagesReason = reason;
    this.tell();
  }

  setPolicy(policy: Policy): void {
    this.policy = policy;
    this.tell();
  }

  end(): void {
    this.ended.abort();
    this.wake();
  }

  /** Resolves when there is no reason to pause, or when a signal is aborted. */
  async untilAllowed(signal: AbortSignal): Promise<void> {
    while (this.reason() !== null && !signal.aborted && !this.ended.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.wakers.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  private wake(): void {
    this.wakers.splice(0).forEach((wake) => wake());
  }

  private tell(): void {
    if (!this.ended.signal.aborted) {
      this.onChange(this.reason(), this.policy.cpuShare ?? 1);
      this.wake();
    }
  }

  private reason(): string | null {
    const { pauseWhenHidden, respectSaveData, requiresUnmetered, batteryPercentMin } = this.policy;
    const { connection } = this.hints;
    if (this.pagesReason !== null) {
      return this.pagesReason;
    }
    if (pauseWhenHidden === true && document.visibilityState === 'hidden') {
      return 'hidden';
    }
    if (respectSaveData !== false && connection?.saveData === true) {
      return 'save_data';
    }
    if (requiresUnmetered !== false && connection?.type === 'cellular') {
      return 'unmetered';
    }
    const battery = this.battery;
    const percentMin = batteryPercentMin ?? BATTERY_PERCENT_MIN;
    return battery !== null && !battery.charging && battery.level < percentMin / 100 ? 'battery' : null;
  }
}
