import type { Pool } from 'pg'
import { createInvitations, type Invitations } from '#access/invitations.ts'
import { createLogin, type Login } from '#access/login.ts'
import { INVITATION_TOKENS, PANEL_TOKENS, TILL_TOKENS } from '#access/opaque-token.ts'
import type { PanelLimits } from '#access/panel-quota.ts'
import { createPasswordLinks, type PasswordLinks } from '#access/password-links.ts'
import type { People } from '#access/people.ts'
import { createSecondFactors, type SecondFactors } from '#access/second-factors.ts'
import {
  type AdmittedSession,
  createSessions,
  type IssuedSession,
  type NextHolder,
  type PanelSession,
  type Sessions,
} from '#access/sessions.ts'
import { createTokens, type Tokens } from '#access/sync-access.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { WrongShardError } from '#lib/errors.ts'
import type { Mailer } from '#notifications/mailer.ts'
import type { Directory } from './directory.ts'
import type { EntryKind } from './directory-entries.ts'
import { peopleOverShards } from './people-over-shards.ts'
import { type PersonDirectory, registerLoginOf } from './persons.ts'
import type { Shards } from './shards.ts'

/** Logins, sessions, tokens and invitations over all shards. */
export interface ShardedAccess {
  readonly login: Login
  readonly sessions: Sessions
  readonly tokens: Tokens
  readonly invitations: Invitations
  readonly passwordLinks: PasswordLinks
  readonly secondFactors: SecondFactors
  readonly companiesOf: People['companiesOf']
}

/** The parts of one shard. */
interface ShardAccess extends Pick<ShardedAccess, 'sessions' | 'tokens' | 'invitations'> {
  readonly writer: Writer
}

interface AccessOptions extends PersonDirectory {
  readonly shards: Shards<{
    readonly pool: Pool
    readonly gate: Pool
    readonly writer: Writer
    readonly requestSecret: Buffer
    readonly vault: Vault
  }>
  readonly mailer: Mailer | null
  readonly publicUrl: string
  /** Lifetime of till tokens; null if they end only by logout. */
  readonly tokenDays: number | null
  readonly panelLimits: PanelLimits
}

/**
 * The interfaces of a single shard, over all shards (SHARD-25). A key that no shard knows is looked up in the default
 * shard (SHARD-4).
 */
export function createShardedAccess(options: AccessOptions): ShardedAccess {
  const { shards, mailer, publicUrl, log } = options
  const people = peopleOverShards(options)
  const login = createLogin(shards.main.gate, people)
  const made = new WeakMap<object, ShardAccess>()

  function accessOf(name: string): ShardAccess {
    const shard = shards.at(name)
    const known = made.get(shard)
    if (known) return known
    const access = {
      writer: shard.writer,
      sessions: createSessions(shard.gate, (error) => log('sharding: last use of a session was not recorded', error), {
        register: registerLoginOf(options, shard, 'session'),
        limits: options.panelLimits,
      }),
      tokens: createTokens(shard.gate, {
        days: options.tokenDays,
        secret: shard.requestSecret,
        register: registerLoginOf(options, shard, 'sync_token'),
      }),
      invitations: createInvitations({ ...shard, login, people, mailer, publicUrl }),
    }
    made.set(shard, access)
    return access
  }

  const routes = createRoutes(options, accessOf)
  const writer: Writer = {
    run: (request) => routes.ofCompany(request.companyId, (shard) => shard.writer.run(request)),
    idle: async () => {
      await Promise.all(shards.present().map(({ shard }) => shard.writer.idle()))
    },
  }
  return {
    login,
    sessions: sessionsOver(routes),
    tokens: tokensOver(routes),
    invitations: invitationsOver(routes, accessOf),
    passwordLinks: createPasswordLinks({ pool: shards.main.pool, writer, login, people, mailer, publicUrl, log }),
    secondFactors: createSecondFactors({ ...shards.main, mailer, publicUrl, log }),
    companiesOf: people.companiesOf,
  }
}

/** Routes a call to the shard of its company. */
interface Routes {
  ofCompany<T>(companyId: number, work: (shard: ShardAccess) => Promise<T>): Promise<T>
  /** A null hash is a token of the wrong format. */
  ofKey<T>(kind: EntryKind, hash: Buffer | null, work: (shard: ShardAccess) => Promise<T>): Promise<T>
  /** The sweep removes ended entries too: a failure here is not reported to the caller. */
  release(kind: EntryKind, key: Buffer): Promise<void>
}

function createRoutes({ directory, log }: AccessOptions, accessOf: (shard: string) => ShardAccess): Routes {
  /** A shard that answers WrongShardError has changed nothing, so the call may be repeated once. */
  async function followMigration<T>(
    find: () => Promise<string | null>,
    work: (shard: ShardAccess) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(accessOf((await find()) ?? DEFAULT_SHARD))
    } catch (error) {
      if (!(error instanceof WrongShardError)) throw error
      directory.forget(error.companyId)
      return work(accessOf((await find()) ?? DEFAULT_SHARD))
    }
  }
  return {
    ofCompany: (companyId, work) => followMigration(() => directory.shardOf(companyId), work),
    ofKey: (kind, hash, work) =>
      followMigration(async () => (hash && (await directory.find(kind, hash))[0]?.shard) ?? null, work),
    async release(kind, key) {
      try {
        const places = await directory.find(kind, key)
        await directory.release(places.map(({ companyId }) => ({ kind, key, companyId })))
      } catch (error) {
        log('sharding: ended entry was not removed from the directory', error)
      }
    },
  }
}

const sessionsOver = ({ ofCompany, ofKey, release }: Routes): Sessions => ({
  issue: (holder, userAgent, until) =>
    ofCompany(holder.companyId, ({ sessions }) => sessions.issue(holder, userAgent, until)),
  async exchange(session, next) {
    const issued = await ofCompany(next.companyId, (to) =>
      ofCompany(session.companyId, (from) =>
        from === to ? to.sessions.exchange(session, next) : exchangeAcross(from.sessions, to.sessions, session, next),
      ),
    )
    await release('session', session.sessionHash)
    return issued
  },
  find: (token) => ofKey('session', PANEL_TOKENS.hashOf(token), ({ sessions }) => sessions.find(token)),
  admit: (token) => ofKey('session', PANEL_TOKENS.hashOf(token), ({ sessions }) => sessions.admit(token)),
  isLive: (token) => ofKey('session', PANEL_TOKENS.hashOf(token), ({ sessions }) => sessions.isLive(token)),
  async revoke(session) {
    const wasLive = await ofKey('session', session.sessionHash, ({ sessions }) => sessions.revoke(session))
    await release('session', session.sessionHash)
    return wasLive
  },
  list: (of) => ofCompany(of.companyId, ({ sessions }) => sessions.list(of)),
  async end(of, ending) {
    const ended = await ofCompany(of.companyId, ({ sessions }) => sessions.end(of, ending))
    for (const hash of ended) await release('session', hash)
    return ended
  },
})

/**
 * Exchanges a session across shards. The directory accepts the new session only while the default shard has the person
 * generation of the old one. The new token is returned only if the old session was live until then.
 */
async function exchangeAcross(
  from: Sessions,
  to: Sessions,
  session: PanelSession,
  next: NextHolder,
): Promise<IssuedSession | null> {
  const { personGeneration, userAgent, expiresAt } = session
  const issued = await to.issue({ ...next, personGeneration }, userAgent, expiresAt)
  if (await from.revoke(session)) return issued
  await to.revoke({ sessionHash: PANEL_TOKENS.hashOf(issued.token) as Buffer })
  return null
}

const tokensOver = ({ ofCompany, ofKey, release }: Routes): Tokens => ({
  issue: (holder) => ofCompany(holder.companyId, ({ tokens }) => tokens.issue(holder)),
  find: (token, tillVersion) =>
    ofKey('sync_token', TILL_TOKENS.hashOf(token), ({ tokens }) => tokens.find(token, tillVersion)),
  // The old token still lives: the sweep removes its entry.
  renew: (session, token) => ofCompany(session.companyId, ({ tokens }) => tokens.renew(session, token)),
  async revoke(session) {
    await ofCompany(session.companyId, ({ tokens }) => tokens.revoke(session))
    await release('sync_token', session.tokenHash)
  },
})

function invitationsOver({ ofCompany, ofKey }: Routes, accessOf: (shard: string) => ShardAccess): Invitations {
  const hashOf = INVITATION_TOKENS.hashOf
  return {
    create: (email) => accessOf(DEFAULT_SHARD).invitations.create(email),
    send: (invitation, to) => ofCompany(to.companyId, ({ invitations }) => invitations.send(invitation, to)),
    find: (token) => ofKey('invitation', hashOf(token), ({ invitations }) => invitations.find(token)),
    accept: (token, password, from) =>
      ofKey('invitation', hashOf(token), ({ invitations }) => invitations.accept(token, password, from)),
  }
}

/**
 * Access on one shard. For a company that has migrated it throws WrongShardError, so that no session is looked up on
 * the wrong shard (SHARD-29).
 */
export function accessOnShard(
  shard: string,
  access: ShardedAccess,
  directory: Pick<Directory, 'shardOf' | 'find'>,
): ShardedAccess {
  async function assertOnShard<T extends { readonly companyId: number }>(session: T | null): Promise<T | null> {
    if (session && ((await directory.shardOf(session.companyId)) ?? DEFAULT_SHARD) !== shard)
      throw new WrongShardError(session.companyId)
    return session
  }
  async function isLive(token: string): Promise<boolean> {
    const hash = PANEL_TOKENS.hashOf(token)
    const [place] = hash ? await directory.find('session', hash) : []
    if (place && place.shard !== shard) throw new WrongShardError(place.companyId)
    return access.sessions.isLive(token)
  }
  async function admit(token: string): Promise<AdmittedSession | null> {
    const admitted = await access.sessions.admit(token)
    if (admitted) await assertOnShard(admitted.session)
    return admitted
  }
  return {
    ...access,
    sessions: {
      ...access.sessions,
      isLive,
      admit,
      find: async (token) => assertOnShard(await access.sessions.find(token)),
    },
    tokens: {
      ...access.tokens,
      find: async (token, tillVersion) => assertOnShard(await access.tokens.find(token, tillVersion)),
    },
  }
}
