import type { Assumptions } from './model.ts'

/** Inputs that cannot be measured here; docs/scale.md gives the reasons. Change them to your costs and needs. */
export const ASSUMPTIONS: Assumptions = {
  utilisation: 0.5,
  coresOfShard: 8,
  coresOfServices: 4,
  processesAtLeast: 2,
  connections: 20,
  serversOfShard: 2,
  days: 365,
  usualDay: 0.7,
  walDays: 7,
  coreSpeed: 1,
  prices: { asOf: '2026-11-22', core: 25, gigabyteOfDisk: 0.12, gigabyteOfArchive: 0.025 },
}
