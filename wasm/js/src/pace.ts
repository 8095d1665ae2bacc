/** Decides when training pauses: at once if the page asks for it, and between steps to keep to a share of the time. */

/** The minimum share of the time. With less, training would take too long. */
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

  /** The reason for the pause, or null. */
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

  /** Resolves when there is no reason to pause. */
  async untilAllowed(signal: AbortSignal): Promise<void> {
    while (this.reason !== null && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.wakers.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /**
   * Call this after `worked` milliseconds of work. It lets the worker handle messages, pauses to keep to the share of
   * the time, and waits while there is a reason to pause.
   */
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
