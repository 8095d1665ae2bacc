/** Chooses where a training runs: on the CPU, or on a graphics adapter that is faster and has not failed. */

import type { Assignment } from './effects.js';
import type { Engine } from './engine.js';
import type { AssignedWork, Device } from './gpu/folkmoot.js';
import type { ClientEvent } from './messages.js';
import type { Storage } from './storage.js';

/** Stored measurements of one adapter. */
interface Memory {
  adapter: string;
  tuning: string;
  /** Whether steps are faster on the adapter, by plan. */
  plans: Record<string, boolean>;
}

/** The maximum number of plans that are remembered. */
const PLANS_MAX = 64;

export class Devices {
  private device: Device | null = null;
  /** The module of `device`. */
  private engine: Engine | null = null;
  private isLost = false;
  private running: string | null = null;

  constructor(
    private readonly storage: Storage,
    private readonly wanted: 'auto' | 'cpu' | 'webgpu',
    private readonly emit: (event: ClientEvent) => void,
  ) {}

  /** Moves a training, which runs in this module, to its device. If anything goes wrong with an adapter, the CPU is used. */
  async place(engine: Engine, task: AssignedWork, assignment: Assignment): Promise<void> {
    let fault: string | undefined;
    this.running = null;
    try {
      const device = await this.open(engine);
      if (device !== null && (await this.isWanted(task, device, assignment))) {
        task.useDevice(device);
        this.running = this.name(device);
      }
    } catch (error) {
      fault = String(error);
    }
    this.tell(assignment.assignment_id, fault);
  }

  /** Reports that an adapter failed, once. */
  tellFault(task: AssignedWork, assignmentId: string): void {
    if (this.running === null) {
      return;
    }
    const fault = task.deviceFault();
    if (fault !== undefined) {
      this.running = null;
      this.lose();
      this.tell(assignmentId, fault);
    }
  }

  /** Destroys the adapter, as if it had been unplugged. */
  destroy(): void {
    this.device?.destroy();
  }

  private lose(): void {
    this.isLost = true;
    this.close();
  }

  private close(): void {
    this.device?.free();
    this.device = null;
  }

  private async open(engine: Engine): Promise<Device | null> {
    if (this.wanted === 'cpu' || this.isLost || !('Device' in engine) || !('gpu' in navigator)) {
      return null;
    }
    if (this.engine !== engine) {
      this.close();
      this.engine = engine;
    }
    if (this.device === null) {
      const memory = await this.remembered();
      this.device = await engine.Device.find(memory?.tuning);
      const adapter = this.name(this.device);
      if (memory?.adapter !== adapter) {
        await this.remember({ adapter, tuning: this.device.tuning(), plans: {} });
      }
    }
    return this.device;
  }

  private async isWanted(task: AssignedWork, device: Device, assignment: Assignment): Promise<boolean> {
    if (this.wanted === 'webgpu') {
      return true;
    }
    const memory = await this.remembered();
    const known = memory?.plans[assignment.plan.digest];
    if (known !== undefined || memory === undefined) {
      return known ?? false;
    }
    const isFaster = await task.prefersDevice(device);
    const plans = Object.entries({ ...memory.plans, [assignment.plan.digest]: isFaster }).slice(-PLANS_MAX);
    await this.remember({ ...memory, plans: Object.fromEntries(plans) });
    return isFaster;
  }

  private name(device: Device): string {
    const report = JSON.parse(device.report()) as { name: string; driver: string };
    return report.name === '' ? report.driver || 'WebGPU' : report.name;
  }

  private tell(assignmentId: string, fault: string | undefined): void {
    const device = this.running ?? 'cpu';
    this.emit({ name: 'device', value: { assignmentId, device, ...(fault === undefined ? {} : { fault }) } });
  }

  private remembered(): Promise<Memory | undefined> {
    return this.storage.get<Memory>('state', 'device').catch(() => undefined);
  }

  private async remember(memory: Memory): Promise<void> {
    await this.storage.put('state', memory, 'device').catch(() => undefined);
  }
}
