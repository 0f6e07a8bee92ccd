import express, { type Router } from 'express'
import type { ProcessRole } from '#config/values.ts'
import { sendJson } from '#http/answer.ts'
import type { Inconsistency } from '#integrity/proofs/installation-check.ts'
import type { Core } from './core.ts'

/** Health of a process. */
export interface HealthReport {
  /** States of its dependencies, by name: `up`, or why the process cannot serve. */
  readonly parts: Readonly<Record<string, string>>
  /** Ledgers that take no writes. Other processes are affected too, so this does not make the process unready. */
  readonly ledgers_ahead_of_clock?: number
  /** Companies that are read-only because keys of their persons are missing. Other processes are affected too. */
  readonly read_only_without_keys?: number
  /** Connected stores of which the payment provider refused to renew the access token. */
  readonly store_connections_refused?: number
  /**
   * States of the read replicas, by their position in READ_URLS. An unused replica does not make the process unready.
   */
  readonly replicas?: Readonly<Record<string, string>>
  /** Reason for the write block of the installation; reads continue. */
  readonly installation?: Inconsistency
}

export type CheckHealth = () => Promise<HealthReport>

/** A process that only delivers does not depend on the event store. */
export function createHealthCheck(
  roles: readonly ProcessRole[],
  core: Pick<Core, 'health' | 'ledgersAhead' | 'missingKeys'> & Partial<Pick<Core, 'replicas'>>,
  inconsistency: () => Inconsistency | null = () => null,
  refusedConnections: () => Promise<number> = async () => 0,
): CheckHealth {
  const needsStore = roles.some((role) => role !== 'dispatcher')
  return async () => {
    const [{ postgres, ...others }, ahead, withoutKeys, refused] = await Promise.all([
      core.health(),
      core.ledgersAhead().catch(() => 0),
      core.missingKeys().catch(() => []),
      refusedConnections().catch(() => 0),
    ])
    const parts = { postgres: postgres ?? 'down', ...(needsStore && others) }
    const installation = inconsistency()
    const { replicas = [] } = core
    const states = Object.fromEntries(replicas.map(({ name, state }) => [name, state]))
    const read = replicas.length > 0 && { replicas: states }
    return {
      parts,
      ...read,
      ...(ahead > 0 && { ledgers_ahead_of_clock: ahead }),
      ...(withoutKeys.length > 0 && { read_only_without_keys: withoutKeys.length }),
      ...(refused > 0 && { store_connections_refused: refused }),
      ...(installation && { installation }),
    }
  }
}

/** `/health/live`: the process runs. `/health/ready`: it can serve, or the answer names the part that is down. Neither needs a key. */
export function probes(health: CheckHealth, isStopping: () => boolean): Router {
  const router = express.Router()
  router.get('/live', (_request, response) => sendJson(response, 200, '{"status":"live"}'))
  router.get('/ready', async (_request, response) => {
    const { parts, ...rest } = await health()
    const isReady = Object.values(parts).every((state) => state === 'up') && !isStopping()
    const body = {
      status: isReady ? 'ready' : 'not_ready',
      parts: { ...parts, ...(isStopping() ? { service: 'stopping' } : {}) },
      ...rest,
    }
    sendJson(response, isReady ? 200 : 503, JSON.stringify(body))
  })
  return router
}
