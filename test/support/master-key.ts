import type { Pool } from 'pg'
import { createPersonKeys, type PersonKeys } from '#ledger/person-keys.ts'
import { createVault } from '#lib/vault.ts'
import { givenKeys } from '#master-key/keys.ts'

const SECRET = Buffer.alloc(32, 'tillbook tests')

/** The master key of all services that tests start, as the environment has it. */
export const MASTER_KEY = SECRET.toString('base64')

export const masterKeys = givenKeys([SECRET], 'MASTER_KEY')

/** Keys of persons in a database, as the services have them that tests start. */
export const keysIn = (pool: Pool): PersonKeys => createPersonKeys(pool, createVault(masterKeys))
