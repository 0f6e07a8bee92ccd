import type { Pool } from 'pg'
import { createInvitations, type Invitations } from '#access/invitations.ts'
import { createLogin, type Login } from '#access/login.ts'
import { INVITATION_TOKENS, PANEL_TOKENS, TILL_TOKENS } from '#access/opaque-token.ts'
import type { PanelLimits } from '#access/panel-quota.ts'
import { createPasswordLinks, type PasswordLinks } from '#access/password-links.ts'
import { type AdmittedSession, createSessions, type Sessions } from '#access/sessions.ts'
import { createTokens, type Tokens } from '#access/sync-access.ts'
import { MAIN } from '#config/databases.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Moved } from '#lib/moved.ts'
import type { Mailer } from '#mail/mailer.ts'
import type { Directory } from './directory.ts'
import type { EntryKind } from './entries.ts'
import type { Homes } from './homes.ts'
import { peopleOverHomes } from './people.ts'
import { type Persons, registerLoginOf } from './persons.ts'

/** How people get in, whichever homes their companies live in. */
export interface Access {
  readonly login: Login
  readonly sessions: Sessions
  readonly tokens: Tokens
  readonly invitations: Invitations
  readonly passwordLinks: PasswordLinks
}

/** What a home has of it. */
interface HomeAccess extends Pick<Access, 'sessions' | 'tokens' | 'invitations'> {
  readonly writer: Writer
}

interface AccessOptions extends Persons {
  readonly homes: Homes<{ readonly pool: Pool; readonly writer: Writer }>
  readonly mailer: Mailer | null
  readonly publicUrl: string
  /** How long tokens of tills live; null for as long as nobody logs out. */
  readonly tokenDays: number | null
  readonly panelLimits: PanelLimits
}

/** The same interfaces as of one home (HOME-25). What is known nowhere is looked for in `main`, as there (HOME-4). */
export function accessOverHomes(options: AccessOptions): Access {
  const { homes, mailer, publicUrl, log } = options
  const people = peopleOverHomes(options)
  const login = createLogin(homes.main.pool, people)
  const made = new WeakMap<object, HomeAccess>()

  function at(name: string): HomeAccess {
    const home = homes.at(name)
    const known = made.get(home)
    if (known) return known
    const access = {
      writer: home.writer,
      sessions: createSessions(home.pool, (error) => log('the use of a session could not be noted', error), {
        register: registerLoginOf(options, home, 'session'),
        limits: options.panelLimits,
      }),
      tokens: createTokens(home.pool, options.tokenDays, registerLoginOf(options, home, 'sync_token')),
      invitations: createInvitations({ ...home, login, people, mailer, publicUrl }),
    }
    made.set(home, access)
    return access
  }

  const routes = createRoutes(options, at)
  const writer: Writer = {
    run: (request) => routes.ofCompany(request.companyId, (home) => home.writer.run(request)),
    idle: async () => {
      await Promise.all(homes.present().map(({ home }) => home.writer.idle()))
    },
  }
  return {
    login,
    sessions: sessionsOver(routes),
    tokens: tokensOver(routes),
    invitations: invitationsOver(routes, at),
    passwordLinks: createPasswordLinks({ pool: homes.main.pool, writer, login, mailer, publicUrl, log }),
  }
}

/** Where something is done. */
interface Routes {
  ofCompany<T>(companyId: number, work: (home: HomeAccess) => Promise<T>): Promise<T>
  /** Null: a token that can be none of its kind. */
  ofKey<T>(kind: EntryKind, hash: Buffer | null, work: (home: HomeAccess) => Promise<T>): Promise<T>
  /** What has ended is swept as well: nobody waits for the directory, or fails with it. */
  release(kind: EntryKind, key: Buffer): Promise<void>
}

function createRoutes({ directory, log }: AccessOptions, at: (home: string) => HomeAccess): Routes {
  /** A home that says that the company has moved has done nothing, and is believed once. */
  async function following<T>(find: () => Promise<string | null>, work: (home: HomeAccess) => Promise<T>): Promise<T> {
    try {
      return await work(at((await find()) ?? MAIN))
    } catch (error) {
      if (!(error instanceof Moved)) throw error
      directory.forget(error.companyId)
      return work(at((await find()) ?? MAIN))
    }
  }
  return {
    ofCompany: (companyId, work) => following(() => directory.homeOf(companyId), work),
    ofKey: (kind, hash, work) =>
      following(async () => (hash && (await directory.find(kind, hash))[0]?.home) ?? null, work),
    async release(kind, key) {
      try {
        const places = await directory.find(kind, key)
        await directory.release(places.map(({ companyId }) => ({ kind, key, companyId })))
      } catch (error) {
        log('what has ended is in the directory still', error)
      }
    },
  }
}

const sessionsOver = ({ ofCompany, ofKey, release }: Routes): Sessions => ({
  issue: (holder, userAgent) => ofCompany(holder.companyId, ({ sessions }) => sessions.issue(holder, userAgent)),
  find: (token) => ofKey('session', PANEL_TOKENS.hashOf(token), ({ sessions }) => sessions.find(token)),
  admit: (token) => ofKey('session', PANEL_TOKENS.hashOf(token), ({ sessions }) => sessions.admit(token)),
  isLive: (token) => ofKey('session', PANEL_TOKENS.hashOf(token), ({ sessions }) => sessions.isLive(token)),
  async revoke(session) {
    await ofKey('session', session.sessionHash, ({ sessions }) => sessions.revoke(session))
    await release('session', session.sessionHash)
  },
  list: (of) => ofCompany(of.companyId, ({ sessions }) => sessions.list(of)),
  async end(of, ending) {
    const ended = await ofCompany(of.companyId, ({ sessions }) => sessions.end(of, ending))
    for (const hash of ended) await release('session', hash)
    return ended
  },
})

const tokensOver = ({ ofCompany, ofKey, release }: Routes): Tokens => ({
  issue: (holder) => ofCompany(holder.companyId, ({ tokens }) => tokens.issue(holder)),
  find: (token, tillVersion) =>
    ofKey('sync_token', TILL_TOKENS.hashOf(token), ({ tokens }) => tokens.find(token, tillVersion)),
  async renew(session) {
    const renewed = await ofCompany(session.companyId, ({ tokens }) => tokens.renew(session))
    if (renewed) await release('sync_token', session.tokenHash)
    return renewed
  },
  async revoke(session) {
    await ofCompany(session.companyId, ({ tokens }) => tokens.revoke(session))
    await release('sync_token', session.tokenHash)
  },
})

function invitationsOver({ ofCompany, ofKey }: Routes, at: (home: string) => HomeAccess): Invitations {
  const hashOf = INVITATION_TOKENS.hashOf
  return {
    create: () => at(MAIN).invitations.create(),
    send: (invitation, to) => ofCompany(to.companyId, ({ invitations }) => invitations.send(invitation, to)),
    find: (token) => ofKey('invitation', hashOf(token), ({ invitations }) => invitations.find(token)),
    accept: (token, password, from) =>
      ofKey('invitation', hashOf(token), ({ invitations }) => invitations.accept(token, password, from)),
  }
}

/**
 * The same for the interfaces of one home, which show what is there: whose company lives elsewhere by now is `Moved`, not somebody
 * whose data are looked for in the wrong place (HOME-29).
 */
export function accessIn(home: string, access: Access, directory: Pick<Directory, 'homeOf' | 'find'>): Access {
  async function here<T extends { readonly companyId: number }>(session: T | null): Promise<T | null> {
    if (session && ((await directory.homeOf(session.companyId)) ?? MAIN) !== home) throw new Moved(session.companyId)
    return session
  }
  async function isLive(token: string): Promise<boolean> {
    const hash = PANEL_TOKENS.hashOf(token)
    const [place] = hash ? await directory.find('session', hash) : []
    if (place && place.home !== home) throw new Moved(place.companyId)
    return access.sessions.isLive(token)
  }
  async function admit(token: string): Promise<AdmittedSession | null> {
    const admitted = await access.sessions.admit(token)
    if (admitted) await here(admitted.session)
    return admitted
  }
  return {
    ...access,
    sessions: { ...access.sessions, isLive, admit, find: async (token) => here(await access.sessions.find(token)) },
    tokens: {
      ...access.tokens,
      find: async (token, tillVersion) => here(await access.tokens.find(token, tillVersion)),
    },
  }
}
