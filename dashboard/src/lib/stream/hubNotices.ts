import type { Alert, Freeze, Rule } from '../api/schema'
import type { Frame } from '../api/types'
import { FrameScheduler } from './frameScheduler'

export type Topic = 'inbox' | 'stream' | 'connection' | 'agents' | 'presence' | 'freezes'

/** The part of the hub's state that is not in its log. The hub sends each list as a whole. */
export class HubNotices {
  readonly scheduler = new FrameScheduler<Topic>()
  /** The active freezes, oldest first. */
  freezes: readonly Freeze[] = []
  /** The rules that allow the harmless calls of a session; some may have expired. */
  allowances: readonly Rule[] = []
  /** The open alerts, the newest first. */
  alerts: readonly Alert[] = []

  /** Replaces the list that the frame has. */
  protected receiveNotice({ type, data }: Frame): void {
    if (type === 'freeze') this.setFreezes(data as Freeze[])
    else if (type === 'alert') this.setAlerts(data as Alert[])
    else if (type === 'allowance') this.setAllowances(data as Rule[])
  }

  /** Replaces the active freezes. */
  setFreezes(active: readonly Freeze[]): void {
    this.freezes = active
    this.scheduler.invalidate('freezes')
  }

  /** Replaces the open alerts. */
  setAlerts(open: readonly Alert[]): void {
    this.alerts = open
    this.scheduler.invalidate('freezes')
  }

  /** Replaces the active allowances. */
  setAllowances(active: readonly Rule[]): void {
    this.allowances = active
    this.scheduler.invalidate('freezes')
  }
}
