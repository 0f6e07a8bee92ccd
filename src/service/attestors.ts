import { randomBytes } from 'node:crypto'
import { type AttestationRequests, requestAttestations } from '#integrity/attestors/attestation-requests.ts'
import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import { createAttestors } from '#integrity/attestors/configured-attestors.ts'
import type { SharedServices } from './role.ts'

const NONCE_BYTES = 16

/** Sends attestation requests for checkpoints to the configured attestors and exports metrics of their status. */
export function startAttestors({
  config,
  core,
  metrics,
  logger,
  log,
}: Pick<SharedServices, 'config' | 'core' | 'metrics' | 'logger' | 'log'>): AttestationRequests {
  const { pool, sealing } = core
  const outsiders = createAttestors(config, { pool, newNonce: () => randomBytes(NONCE_BYTES) })
  if (!sealing || outsiders.length === 0) return { now: () => {}, stop: async () => {} }
  const figures = (figureOf: (state: AttestationStatus) => number | null) => async () => {
    const states = (await core.proof.outsiders()).map((state) => [state.source, figureOf(state)] as const)
    return new Map(states.filter((each): each is readonly [string, number] => each[1] !== null))
  }
  const gauge = (name: string, help: string, figureOf: (state: AttestationStatus) => number | null) =>
    metrics.gauges(name, help, 'outsider', figures(figureOf))
  gauge('tillbook_outsider_token_age_seconds', 'Age of the newest token of an outsider', ({ age }) => age)
  gauge(
    'tillbook_outsider_waiting_seconds',
    'For how long the oldest checkpoint that an outsider has not vouched for has been waiting',
    ({ waiting_seconds }) => waiting_seconds,
  )
  gauge('tillbook_outsider_failures', 'How often in a row an outsider was asked in vain', ({ failures }) => failures)
  return requestAttestations(sealing, outsiders, {
    onToken: ({ source, kind }, { size }) =>
      logger.info({ source, kind, size }, 'an outsider vouches for a checkpoint'),
    onError: ({ source }, error) => log(`no token of ${source}, which is asked again`, error),
  })
}
