import { givenKeys } from '#master-key/keys.ts'

const SECRET = Buffer.alloc(32, 'tillbook tests')

/** The master key of all services that tests start, as the environment has it. */
export const MASTER_KEY = SECRET.toString('base64')

export const masterKeys = givenKeys([SECRET], 'MASTER_KEY')
