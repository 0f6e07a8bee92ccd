import fc from 'fast-check'
import * as z from 'zod'
import { hashKey } from '#access/api-authenticator.ts'
import { UpdateCompanyInput, updateCompany } from '#commands/company-commands.ts'
import { InviteFields, inviteUser } from '#commands/invitation-commands.ts'
import { RecordId } from '#commands/record-commands.ts'
import {
  CreatePaymentTypeInput,
  createPaymentType,
  UpdatePaymentTypeInput,
  updatePaymentType,
} from '#commands/store-commands.ts'
import {
  ChangePasswordInput,
  CreateUserInput,
  changePassword,
  createUser,
  deactivateUser,
  reactivateUser,
  UpdateUserInput,
  updateUser,
} from '#commands/user-commands.ts'
import { CreateApiKeyInput, createApiKey, revokeApiKey } from '#commands/webhook-commands.ts'
import { SCOPES } from '#domain/rights.ts'
import { PAYMENT_KINDS, PLANS, TAX_REGIMES } from '#events/company-events.ts'
import { type Act, byId, maybe, nullable, place } from './act.ts'
import { name } from './values.ts'

/** A secret that no event may contain. */
export const KEY = 'tb_test_SECRETKEYSECRETKEYSECRETKEYSECRETKEYSECRET'
export const PASSWORD_HASH = '$argon2id$v=19$SECRETPASSWORD'

const paymentShape = {
  name,
  kind: fc.constantFrom(...PAYMENT_KINDS),
  fee_percentage: maybe(fc.constantFrom('0', '2.5', '3.49', '100')),
  due_days: maybe(fc.constantFrom(0, 30)),
}

const role = fc.constantFrom('owner', 'clerk')
/** Few users, so that actions are also undone. */
const someone = fc.record({ id: fc.nat({ max: 1 }) })

/** The company itself: payment types, users, keys. */
export const companyActs = {
  createPaymentType: {
    kind: 'payment_type',
    weight: 1,
    command: createPaymentType,
    schema: CreatePaymentTypeInput,
    input: fc.record(paymentShape),
  },
  updatePaymentType: {
    kind: 'payment_type',
    weight: 1,
    command: updatePaymentType,
    schema: UpdatePaymentTypeInput,
    // The first one stays cash, so that sales go on.
    input: fc.record({
      id: fc.integer({ min: 1, max: 6 }),
      name: maybe(name),
      fee_percentage: paymentShape.fee_percentage,
    }),
  },
  updateCompany: {
    kind: 'company',
    weight: 2,
    command: updateCompany,
    schema: UpdateCompanyInput,
    input: fc.record({
      name: maybe(name),
      plan: maybe(fc.constantFrom(...PLANS)),
      timezone: maybe(fc.constantFrom('America/Sao_Paulo', 'Asia/Kolkata', 'America/St_Johns', 'UTC')),
      logo_url: nullable(fc.constant('https://example.com/logo.png')),
      tax_regime: nullable(fc.constantFrom(...TAX_REGIMES)),
    }),
  },
  createUser: {
    kind: 'user',
    weight: 2,
    command: createUser,
    schema: CreateUserInput,
    input: fc.record({
      name,
      email: fc.uuid().map((id) => `${id}@example.com`),
      role,
      password_hash: fc.constant(PASSWORD_HASH),
    }),
  },
  inviteUser: {
    kind: 'user',
    weight: 1,
    command: inviteUser,
    schema: InviteFields.extend({ token_hash: z.instanceof(Buffer) }),
    input: fc.record({
      name,
      email: fc.uuid().map((id) => `${id}@example.com`),
      role,
      // Hashes are unique in the service.
      token_hash: fc.uuid().map((id) => hashKey(KEY + id)),
    }),
  },
  updateUser: {
    kind: 'user',
    weight: 1,
    command: updateUser,
    schema: UpdateUserInput,
    input: fc.record({ id: place, name: maybe(name), role: maybe(role) }),
  },
  deactivateUser: { kind: 'user', weight: 2, command: deactivateUser, schema: RecordId, input: someone },
  reactivateUser: { kind: 'user', weight: 3, command: reactivateUser, schema: RecordId, input: someone },
  changePassword: {
    kind: 'user',
    weight: 1,
    command: changePassword,
    schema: ChangePasswordInput,
    input: fc.record({
      id: place,
      password_hash: fc.constantFrom(PASSWORD_HASH, `${PASSWORD_HASH}2`),
      verified_hash: maybe(fc.constant(PASSWORD_HASH)),
    }),
  },
  createApiKey: {
    kind: 'api_key',
    weight: 1,
    command: createApiKey,
    schema: CreateApiKeyInput,
    input: fc.record({
      name,
      scopes: fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 }),
      expires_at: nullable(fc.constant('2099-01-01T00:00:00Z')),
      prefix: fc.constant(KEY.slice(0, 12)),
      // Hashes are unique in the service.
      hash: fc.uuid().map((id) => hashKey(KEY + id)),
    }),
  },
  revokeApiKey: { kind: 'api_key', weight: 2, command: revokeApiKey, schema: RecordId, input: byId },
} satisfies Record<string, Act>
