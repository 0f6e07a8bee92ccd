import type { QuotaLimits } from './api-authenticator.ts'
import { type AddressLimit, createAddressLimit, createMinuteLimit, type MinuteLimit } from './minute-limit.ts'
import type { PanelLimits } from './panel-quota.ts'

/** How often clients may ask. */
export interface Limits {
  /** Of API keys. */
  readonly quota: QuotaLimits
  readonly panel: PanelLimits
  /** Of clients without a key or login. */
  readonly addresses: AddressLimit
  /** Of checkout and receipt pages per address. */
  readonly checkouts: AddressLimit
  readonly pictures: AddressLimit
  /** Of payment notifications per IP address. */
  readonly notifications: AddressLimit
  /** Of signed payment notifications per store and IP address. */
  readonly signedNotifications: MinuteLimit
}

/** Limits of a process per minute. */
interface MinuteRates extends Pick<Limits, 'quota' | 'panel' | 'addresses'> {
  readonly checkouts: number
  readonly pictures: number
  readonly notifications: number
}

export const createLimits = ({ checkouts, pictures, notifications, ...limits }: MinuteRates): Limits => ({
  ...limits,
  checkouts: createAddressLimit({ perMinute: checkouts }),
  pictures: createAddressLimit({ perMinute: pictures }),
  notifications: createAddressLimit({ perMinute: notifications }),
  signedNotifications: createMinuteLimit({ perMinute: notifications }),
})
