import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { contextOf, openJson, sealJson } from '#crypto/sealed-json.ts'
import type { Vault } from '#crypto/vault.ts'
import type { SecondFactorMethod } from '#events/companies.ts'
import { type SecurityNews, securityEmail } from '#notifications/email-templates.ts'
import type { Mailer } from '#notifications/mailer.ts'
import { createRecoveryCodes, type RecoveryCodes } from './recovery-codes.ts'
import { type KnownPasskey, type RelyingParty, relyingPartyOf, type StoredPasskey } from './relying-party.ts'
import { createSecondSteps, type SecondStep, type SecondSteps } from './second-steps.ts'
import { isTotpCode, stepOfTotp } from './totp.ts'

/** Loaded when the first passkey is used: a third of the files of all packages, 0.4 s of a start. */
const passkeys = () => import('./passkeys.ts')

/** Second factors of a person; each device should have its own passkey. */
const MOST_FACTORS = 10
const LONGEST_LABEL = 60

export interface SecondFactor {
  readonly id: string
  readonly method: SecondFactorMethod
  readonly label: string
  readonly created_at: string
  readonly last_used_at: string | null
}

/** Answer to a login's second step: a code of an app, a recovery code, or the JSON of a passkey. */
export interface SecondFactorAnswer {
  readonly code: string
  readonly passkey: string
}

/** A new factor, with the proof that the person has the device. */
export type NewSecondFactor =
  | { readonly method: 'totp'; readonly secret: string; readonly code: string }
  | { readonly method: 'passkey'; readonly step: SecondStep; readonly answer: string; readonly label: string }

/** A factor whose proof was verified; it is stored by `add`. */
export interface VerifiedFactor {
  readonly method: SecondFactorMethod
  readonly label: string
  readonly secret: string | StoredPasskey
  readonly credentialId: string | null
  readonly counter: number
}

/** Recovery codes are shown with the first factor only. */
export type FactorAddition =
  | { readonly kind: 'added'; readonly recoveryCodes: readonly string[] | null }
  | { readonly kind: 'refused' }

/** Second factors of persons, for all their companies. */
export interface SecondFactors {
  readonly steps: SecondSteps
  /** Whether browsers can use passkeys at the address of this service. */
  readonly takesPasskeys: boolean
  list(email: string): Promise<readonly SecondFactor[]>
  /** Methods by address, for those who have any. */
  methodsOf(emails: readonly string[]): Promise<ReadonlyMap<string, readonly SecondFactorMethod[]>>
  readonly recoveryCodes: RecoveryCodes
  /** Options for the browser's passkeys; null if the person has none. */
  loginOptions(step: SecondStep): Promise<object | null>
  registrationOptions(step: SecondStep, name: string): Promise<object | null>
  /** Whether the answer is right. A code is accepted once. */
  verify(step: SecondStep, answer: SecondFactorAnswer): Promise<boolean>
  /** Null if the proof is wrong. */
  verifyNew(factor: NewSecondFactor): Promise<VerifiedFactor | null>
  /** Refused at the limit of factors, or if the person has the factor. */
  add(email: string, factor: VerifiedFactor): Promise<FactorAddition>
  /** Removes one factor by its id, or all (null). The recovery codes end with the last one. */
  remove(email: string, id: string | null): Promise<void>
  /** Sends a notice in the background: a failure is logged. */
  notify(email: string, news: SecurityNews): void
}

interface SecondFactorOptions {
  readonly pool: Pool
  readonly vault: Vault
  /** Null without e-mail: nothing is sent. */
  readonly mailer: Mailer | null
  readonly publicUrl: string
  readonly log: (message: string, error: unknown) => void
  /** UTC milliseconds. */
  readonly now?: () => number
}

interface StoredFactor {
  readonly id: string
  readonly secret: Buffer
  readonly credential_id: string | null
  readonly counter: string | number
}

export function createSecondFactors(options: SecondFactorOptions): SecondFactors {
  const { pool, vault, mailer, publicUrl, log, now = Date.now } = options
  const site = relyingPartyOf(publicUrl)
  const recoveryCodes = createRecoveryCodes(pool)
  const open = <T>({ id, secret }: StoredFactor) => openJson<T>(vault, secret, contextOf('second_factors', [id]))

  async function load(email: string, method: SecondFactorMethod): Promise<readonly StoredFactor[]> {
    return (await pool.query<StoredFactor>({ ...LOAD, values: [email, method, MOST_FACTORS] })).rows
  }

  async function passkeysOf(email: string): Promise<readonly (KnownPasskey & { readonly id: string })[]> {
    return (await load(email, 'passkey')).map((row) => ({
      ...open<StoredPasskey>(row),
      id: row.id,
      credentialId: row.credential_id ?? '',
      counter: Number(row.counter),
    }))
  }

  async function verifyCode(email: string, code: string): Promise<boolean> {
    for (const row of await load(email, 'totp')) {
      const step = stepOfTotp(open<string>(row), code, now())
      if (step !== null && (await useCounter(pool, row.id, step))) return true
    }
    return false
  }

  async function verifyPasskey({ email, challenge }: SecondStep, answer: string): Promise<boolean> {
    const known = await passkeysOf(email)
    const used = site && (await (await passkeys()).verifyAuthentication(site, challenge, answer, known))
    const passkey = used && known.find(({ credentialId }) => credentialId === used.credentialId)
    return passkey ? useCounter(pool, passkey.id, used.counter) : false
  }

  async function verifyRecoveryCode(email: string, code: string): Promise<boolean> {
    if (!(await recoveryCodes.use(email, code))) return false
    notify(email, { kind: 'recovery_code_used', left: await recoveryCodes.count(email) })
    return true
  }

  function notify(email: string, news: SecurityNews): void {
    if (!mailer) return
    const sent = mailer.send({ id: randomUUID(), to: [email], ...securityEmail(news) })
    void sent.catch((error) => log('access: security notice was not sent', error))
  }

  return {
    steps: createSecondSteps(pool),
    takesPasskeys: site !== null,
    notify,
    recoveryCodes,
    list: async (email) => (await pool.query<SecondFactor>({ ...LIST, values: [email, MOST_FACTORS] })).rows,
    methodsOf: (emails) => loadMethods(pool, emails),
    async loginOptions({ email, challenge }) {
      const known = site ? await passkeysOf(email) : []
      return site && known.length > 0 ? (await passkeys()).authenticationOptions(site, { challenge, known }) : null
    },
    async registrationOptions({ email, challenge }, name) {
      const known = site ? await passkeysOf(email) : []
      return site && (await passkeys()).registrationOptions(site, { challenge, known }, { email, name })
    },
    async verify(step, { code, passkey }) {
      if (passkey !== '') return verifyPasskey(step, passkey)
      const typed = code.replace(/\s/g, '')
      return isTotpCode(typed) ? verifyCode(step.email, typed) : verifyRecoveryCode(step.email, typed)
    },
    verifyNew: (factor) => verifyNewFactor(factor, site, now()),
    async add(email, { method, label, secret, credentialId, counter }) {
      const id = randomUUID()
      const sealed = sealJson(vault, secret, contextOf('second_factors', [id]))
      const values = [id, email, method, label, sealed, credentialId, counter, MOST_FACTORS]
      const { rows } = await pool.query<{ is_first: boolean }>({ ...ADD, values })
      if (!rows[0]) return { kind: 'refused' }
      return { kind: 'added', recoveryCodes: rows[0].is_first ? await recoveryCodes.renew(email) : null }
    },
    async remove(email, id) {
      await pool.query({ ...REMOVE, values: [email, id] })
    },
  }
}

async function loadMethods(pool: Pool, emails: readonly string[]): Promise<Map<string, SecondFactorMethod[]>> {
  const query = { ...METHODS, values: [emails] }
  const { rows } = await pool.query<{ email: string; methods: SecondFactorMethod[] }>(query)
  return new Map(rows.map(({ email, methods }) => [email, methods]))
}

/** False for a counter that was used: an answer is accepted once, also if it is sent twice at a time. */
async function useCounter(pool: Pool, id: string, counter: number): Promise<boolean> {
  return (await pool.query({ ...USE, values: [id, counter] })).rowCount === 1
}

async function verifyNewFactor(
  factor: NewSecondFactor,
  site: RelyingParty | null,
  nowMs: number,
): Promise<VerifiedFactor | null> {
  if (factor.method === 'totp') {
    const { method, secret, code } = factor
    const counter = stepOfTotp(secret, code.replace(/\s/g, ''), nowMs)
    return counter === null ? null : { method, secret, label: 'Aplicativo', credentialId: null, counter }
  }
  const made = site && (await (await passkeys()).verifyRegistration(site, factor.step.challenge, factor.answer))
  if (!made) return null
  const { publicKey, transports, credentialId, counter } = made
  const label = factor.label.slice(0, LONGEST_LABEL)
  return { method: 'passkey', label, secret: { publicKey, transports }, credentialId, counter }
}

const LOAD = {
  name: 'load_second_factors',
  text: `select id, secret, credential_id, counter from ops.second_factors where email = $1 and method = $2
         order by created_at limit $3`,
}

const LIST = {
  name: 'list_second_factors',
  text: `select id, method, label, created_at, last_used_at from ops.second_factors where email = $1
         order by created_at limit $2`,
}

const METHODS = {
  name: 'second_factor_methods',
  text: `select email, array_agg(distinct method order by method) as methods from ops.second_factors
         where email = any($1::text[]) group by email`,
}

/** Authenticators without a counter always send 0. */
const USE = {
  name: 'use_second_factor',
  text: `update ops.second_factors set counter = $2, last_used_at = clock_timestamp()
         where id = $1 and (counter < $2 or method = 'passkey' and counter = 0 and $2 = 0)`,
}

/** Stores nothing for a person who is being erased. */
const ADD = {
  name: 'add_second_factor',
  text: `with person as materialized (select email from ops.persons where email = $2 for key share),
           known as materialized (select count(*) as factors from ops.second_factors where email = $2)
         insert into ops.second_factors (id, email, method, label, secret, credential_id, counter, created_at)
         select $1, email, $3, $4, $5, $6, $7, clock_timestamp() from person cross join known where factors < $8
         on conflict do nothing
         returning (select factors = 0 from known) as is_first`,
}

const REMOVE = {
  name: 'remove_second_factors',
  text: `with gone as (
           delete from ops.second_factors where email = $1 and ($2::uuid is null or id = $2) returning id
         )
         delete from ops.recovery_codes where email = $1 and not exists (
           select from ops.second_factors f where f.email = $1 and f.id not in (select id from gone))`,
}
