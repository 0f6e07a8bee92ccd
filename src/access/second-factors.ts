import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { Pool } from 'pg'
import { openJson, sealContext, sealJson, type Vault } from '#crypto/vault.ts'
import type { SecondFactorMethod } from '#events/company-events.ts'
import { opaqueTokens } from './credentials.ts'
import { type Mailer, type SecurityNews, securityEmail } from './email.ts'
import { type KnownPasskey, type RelyingParty, type StoredPasskey, toRelyingParty } from './passkeys.ts'

/** The parameters that authenticator apps support without exception (RFC 6238). */
const PERIOD_S = 30
const OPTIONS = { algorithm: 'SHA1', digits: 6, period: PERIOD_S } as const

/** Time steps before and after the present one that are accepted, for clocks that differ. */
const WINDOW = 1

/** 160 bits, as RFC 4226 recommends: 32 characters in base32. */
const SECRET_BYTES = 20
const SECRET_FORMAT = /^[A-Z2-7]{32}$/

export const createTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

export const isTotpSecret = (text: string): boolean => SECRET_FORMAT.test(text)

const isTotpCode = (text: string): boolean => /^\d{6}$/.test(text)

/** Address for authenticator apps, usually read from a QR code. */
export const totpUri = (secret: string, email: string): string =>
  new TOTP({ ...OPTIONS, issuer: 'Tillbook', label: email, secret: Secret.fromBase32(secret) }).toString()

/** Time step of a code at a time; null if the code is of none of the accepted steps. */
export function stepOfTotp(secret: string, code: string, atMs: number): number | null {
  if (!isTotpCode(code)) return null
  const options = { ...OPTIONS, secret: Secret.fromBase32(secret) }
  const delta = TOTP.validate({ ...options, token: code, timestamp: atMs, window: WINDOW })
  return delta === null ? null : Math.floor(atMs / 1000 / PERIOD_S) + delta
}

/** Codes of a set; a new set replaces the former one. */
const RECOVERY_CODES = 10

/** 80 bits: the hash needs no salt, and a code cannot be guessed. */
const CODE_BYTES = 10

/** Without letters and digits that look alike: Crockford's base32. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const FORMAT = /^[0-9a-hjkmnp-tv-z]{16}$/

/** A new set of codes, as `k3x9-7m2q-wd0v-8htz`. They are shown once and stored as hashes. */
const newCodes = (): string[] => Array.from({ length: RECOVERY_CODES }, createCode)

function createCode(): string {
  let bits = BigInt(`0x${randomBytes(CODE_BYTES).toString('hex')}`)
  let text = ''
  for (let n = 0; n < (CODE_BYTES * 8) / 5; n++, bits >>= 5n) text += ALPHABET[Number(bits & 31n)]
  return (text.match(/.{4}/g) ?? []).join('-')
}

/** Hash of a typed code, with or without hyphens; null if the format is wrong. */
export function recoveryCodeHash(typed: string): Buffer | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
  return FORMAT.test(code) ? createHash('sha256').update(`recovery code\n${code}`).digest() : null
}

/** Codes of a person for a lost device. Each is valid once. */
interface RecoveryCodes {
  count(email: string): Promise<number>
  /** A new set in place of the former one; null without a second factor. */
  renew(email: string): Promise<readonly string[] | null>
  /** Uses up a code; false for a wrong or used one. */
  use(email: string, typed: string): Promise<boolean>
}

const createRecoveryCodes = (pool: Pool): RecoveryCodes => ({
  async count(email) {
    const { rows } = await pool.query<{ left: number }>({ ...COUNT_CODES, values: [email] })
    return rows[0]?.left ?? 0
  },
  async renew(email) {
    const codes = newCodes()
    const { rows } = await pool.query({ ...RENEW_CODES, values: [email, codes.map(recoveryCodeHash)] })
    return rows.length > 0 ? codes : null
  },
  async use(email, typed) {
    const hash = recoveryCodeHash(typed)
    return hash !== null && (await pool.query({ ...USE_CODE, values: [email, hash] })).rowCount === 1
  },
})

/** One statement cannot see its own deletion: the new codes differ from the former ones. */
const RENEW_CODES = {
  name: 'renew_recovery_codes',
  text: `with factors as materialized (select email from ops.second_factors where email = $1 limit 1),
           former as (delete from ops.recovery_codes where email in (select email from factors))
         insert into ops.recovery_codes (email, hash)
         select email, hash from factors cross join unnest($2::bytea[]) as codes(hash) returning hash`,
}

const COUNT_CODES = {
  name: 'count_recovery_codes',
  text: 'select count(*)::integer as left from ops.recovery_codes where email = $1 and used_at is null',
}

const USE_CODE = {
  name: 'use_recovery_code',
  text: `update ops.recovery_codes set used_at = clock_timestamp() where email = $1 and hash = $2 and used_at is null`,
}

/** Time for the second factor after the password. */
const LIVES_MINUTES = 10
/** Wrong answers after which the password is asked again. */
const FAILURES = 5
/** Open steps of a person; the oldest end first. */
const STEPS_OF_PERSON = 20
const CHALLENGE_BYTES = 32

const TOKENS = opaqueTokens('tb_step_')

/** A login waits for its second factor, or a passkey is being registered. */
type StepPurpose = 'login' | 'registration'

/** The person, as of the password check. */
export interface StepHolder {
  readonly email: string
  readonly generation: number
}

/** A step that has not ended. */
export interface SecondStep extends StepHolder {
  readonly hash: Buffer
  /** Of passkeys, base64url. */
  readonly challenge: string
}

/** Steps between a password and a session. Their token is in the form; a step grants no access. */
interface SecondSteps {
  begin(purpose: StepPurpose, holder: StepHolder): Promise<{ readonly token: string; readonly step: SecondStep }>
  find(purpose: StepPurpose, token: string): Promise<SecondStep | null>
  countFailure(step: SecondStep): Promise<void>
  /** Ends a step; false if it had ended. */
  end(step: SecondStep): Promise<boolean>
}

function createSecondSteps(pool: Pool): SecondSteps {
  return {
    async begin(purpose, { email, generation }) {
      const token = TOKENS.make()
      const hash = TOKENS.hashOf(token) as Buffer
      const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url')
      const values = [hash, purpose, email, generation, challenge, LIVES_MINUTES, STEPS_OF_PERSON - 1]
      await pool.query({ ...BEGIN, values })
      return { token, step: { hash, email, generation, challenge } }
    },
    async find(purpose, token) {
      const hash = TOKENS.hashOf(token)
      if (!hash) return null
      const { rows } = await pool.query<SecondStep>({ ...FIND, values: [hash, purpose, FAILURES] })
      return rows[0] ?? null
    },
    async countFailure({ hash }) {
      await pool.query({ ...COUNT_FAILURE, values: [hash] })
    },
    async end({ hash }) {
      const { rowCount } = await pool.query({ ...END, values: [hash, FAILURES] })
      return rowCount === 1
    },
  }
}

const BEGIN = {
  name: 'begin_second_step',
  text: `with surplus as (
           delete from ops.second_steps where hash in (
             select hash from ops.second_steps where email = $3 order by expires_at desc offset $7)
         )
         insert into ops.second_steps (hash, purpose, email, generation, challenge, failures, expires_at)
         select $1, $2, email, $4, $5, 0, clock_timestamp() + make_interval(mins => $6)
         from ops.persons where email = $3 for key share`,
}

const FIND = {
  name: 'find_second_step',
  text: `select hash, email, generation, challenge from ops.second_steps
         where hash = $1 and purpose = $2 and failures < $3 and expires_at > clock_timestamp()`,
}

const COUNT_FAILURE = {
  name: 'count_failed_second_step',
  text: 'update ops.second_steps set failures = failures + 1 where hash = $1',
}

const END = {
  name: 'end_second_step',
  text: `with ended as (delete from ops.second_steps where hash = $1 returning failures, expires_at)
         select from ended where failures < $2 and expires_at > clock_timestamp()`,
}

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
  const site = toRelyingParty(publicUrl)
  const recoveryCodes = createRecoveryCodes(pool)
  const open = <T>({ id, secret }: StoredFactor) => openJson<T>(vault, secret, sealContext('second_factors', [id]))

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
    void sent.catch((error) => log('access: security e-mail failed', error))
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
      const sealed = sealJson(vault, secret, sealContext('second_factors', [id]))
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
