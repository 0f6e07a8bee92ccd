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
  const attestors = createAttestors(config, { pool, newNonce: () => randomBytes(NONCE_BYTES) })
  if (!sealing || attestors.length === 0) return { now: () => {}, stop: async () => {} }
  const statuses = metrics.oncePerScrape(() => core.proof.attestors())
  const gauge = (name: string, help: string, figureOf: (state: AttestationStatus) => number | null) =>
    metrics.gauges(name, help, 'attestor', async () => {
      const states = (await statuses()).map((state) => [state.source, figureOf(state)] as const)
      return new Map(states.filter((each): each is readonly [string, number] => each[1] !== null))
    })
  gauge('tillbook_attestor_token_age_seconds', 'Age of the newest token of an attestor', ({ age }) => age)
  gauge(
    'tillbook_attestor_waiting_seconds',
    'For how long the oldest checkpoint that an attestor has not vouched for has been waiting',
    ({ waiting_seconds }) => waiting_seconds,
  )
  gauge('tillbook_attestor_failures', 'How often in a row an attestor was asked in vain', ({ failures }) => failures)
  return requestAttestations(sealing, attestors, {
    onToken: ({ source, kind }, { size }) =>
      logger.info({ source, kind, size }, 'an attestor vouches for a checkpoint'),
    onError: ({ source }, error) => log(`no token of ${source}, which is asked again`, error),
  })
}
