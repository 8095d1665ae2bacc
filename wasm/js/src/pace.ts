/** When training rests: at once when the page says so, and between steps for a share of the time. */

/** A share below this would never end. */
const SHARE_MIN = 0.05;

export class Pace {
  private reason: string | null = null;
  private share = 1;
  private wakers: (() => void)[] = [];
  private readonly channel = new MessageChannel();
  private turns: (() => void)[] = [];

  constructor(private readonly onChange: (reason: string | null) => void) {
    this.channel.port1.onmessage = () => this.turns.shift()?.();
  }

  /** Why it rests, or null. */
  get pauseReason(): string | null {
    return this.reason;
  }

  set(reason: string | null, share: number): void {
    const before = this.reason;
    this.reason = reason;
    this.share = Math.min(1, Math.max(SHARE_MIN, share));
    if (reason === null) {
      this.wakers.splice(0).forEach((wake) => wake());
    }
    if (before !== reason) {
      this.onChange(reason);
    }
  }

  /** Returns when there is no reason to rest. */
  async untilAllowed(signal: AbortSignal): Promise<void> {
    while (this.reason !== null && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.wakers.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /** Lets messages in after so many milliseconds of work, and rests as the share of the time asks for. */
  async breathe(worked: number, signal: AbortSignal): Promise<void> {
    const rest = worked * (1 / this.share - 1);
    if (rest >= 1) {
      await new Promise((resolve) => setTimeout(resolve, rest));
    } else {
      await new Promise<void>((resolve) => {
        this.turns.push(resolve);
        this.channel.port2.postMessage(null);
      });
    }
    await this.untilAllowed(signal);
  }
}
