import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { opaqueTokens } from './opaque-token.ts'

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
export interface SecondSteps {
  begin(purpose: StepPurpose, holder: StepHolder): Promise<{ readonly token: string; readonly step: SecondStep }>
  find(purpose: StepPurpose, token: string): Promise<SecondStep | null>
  countFailure(step: SecondStep): Promise<void>
  /** Ends a step; false if it had ended. */
  end(step: SecondStep): Promise<boolean>
}

export function createSecondSteps(pool: Pool): SecondSteps {
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
