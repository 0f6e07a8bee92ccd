import { randomBytes } from 'node:crypto'
import { repeat } from '#background/repeat.ts'
import { type AttestationRequests, requestAttestations } from '#integrity/attestors/attestation-requests.ts'
import { type AttestationStatus, noteAttestors } from '#integrity/attestors/attestation-status.ts'
import { attestorNames, createAttestors } from '#integrity/attestors/configured-attestors.ts'
import { createMailer } from '#notifications/mailer.ts'
import { failingForADay, failureText, tellOperator } from './failing-attestors.ts'
import type { SharedServices } from './role.ts'

const NONCE_BYTES = 16
/** Between looks for attestors of which the operator has to be told. */
const TOLD_EVERY_MS = 60_000

const NONE: AttestationRequests = { now: () => {}, stop: async () => {} }

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
  if (!sealing) return NONE
  const noted = noteAttestors(pool, attestorNames(config)).catch((error) => log('attestors were not noted', error))
  if (attestors.length === 0) return { ...NONE, stop: () => noted }
  void noted.then(warn).catch((error) => log('attestors were not read', error))
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
  async function warn(): Promise<void> {
    for (const state of failingForADay(await core.proof.attestors(), Date.now()))
      logger.warn(state, `no token of ${failureText(state)}`)
  }

  const { OPERATOR_EMAIL: operator, SMTP_URL, SMTP_FROM } = config
  const mailer = operator === undefined || SMTP_URL === undefined ? null : createMailer(SMTP_URL, SMTP_FROM)
  const tell = async () => {
    if (mailer && operator !== undefined) await tellOperator(pool, mailer, operator)
  }
  const telling = repeat(tell, TOLD_EVERY_MS, (error) => log('the operator was not told of failing attestors', error))
  const requests = requestAttestations(sealing, attestors, {
    onToken: ({ source, kind }, { size }) =>
      logger.info({ source, kind, size }, 'an attestor vouches for a checkpoint'),
    onError: ({ source }, error) => log(`no token of ${source}, which is asked again`, error),
  })
  return {
    now: requests.now,
    async stop() {
      await Promise.all([requests.stop(), telling.stop(), noted])
      mailer?.close()
    },
  }
}
