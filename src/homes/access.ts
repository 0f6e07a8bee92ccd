import type { Pool } from 'pg'
import { createInvitations, type Invitations } from '#access/invitations.ts'
import { createLogin, type Login } from '#access/login.ts'
import { INVITATION_TOKENS, PANEL_TOKENS, TILL_TOKENS } from '#access/opaque-token.ts'
import { createPasswordLinks, type PasswordLinks } from '#access/password-links.ts'
import { createSessions, type Sessions } from '#access/sessions.ts'
import { createTokens, type Tokens } from '#access/sync-access.ts'
import { MAIN } from '#config/config.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Mailer } from '#mail/mailer.ts'
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
}

/** The same interfaces as of one home (HOME-25). What is known nowhere is looked for in `main`, as there (HOME-4). */
export function accessOverHomes(options: AccessOptions): Access {
  const { directory, homes, mailer, publicUrl, log } = options
  const people = peopleOverHomes(options)
  const login = createLogin(homes.main.pool, people)
  const made = new WeakMap<object, HomeAccess>()

  function at(name: string): HomeAccess {
    const home = homes.at(name)
    const known = made.get(home)
    if (known) return known
    const access = {
      writer: home.writer,
      sessions: createSessions(
        home.pool,
        (error) => log('the use of a session could not be noted', error),
        registerLoginOf(options, home, 'session'),
      ),
      tokens: createTokens(home.pool, options.tokenDays, registerLoginOf(options, home, 'sync_token')),
      invitations: createInvitations({ ...home, login, people, mailer, publicUrl }),
    }
    made.set(home, access)
    return access
  }

  const ofCompany = async (companyId: number) => at((await directory.homeOf(companyId)) ?? MAIN)
  const ofKey = async (kind: EntryKind, hash: Buffer | null) =>
    at((hash && (await directory.find(kind, hash))[0]?.home) ?? MAIN)

  /** What has ended is swept as well: nobody waits for the directory. */
  const release = (kind: EntryKind, key: Buffer, companyId: number) =>
    directory
      .release([{ kind, key, companyId }])
      .catch((error) => log('what has ended is in the directory still', error))

  const writer: Writer = {
    run: async (request) => (await ofCompany(request.companyId)).writer.run(request),
    idle: async () => {
      await Promise.all(homes.present().map(({ home }) => home.writer.idle()))
    },
  }

  return {
    login,
    sessions: {
      issue: async (holder) => (await ofCompany(holder.companyId)).sessions.issue(holder),
      find: async (token) => (await ofKey('session', PANEL_TOKENS.hashOf(token))).sessions.find(token),
      isLive: async (token) => (await ofKey('session', PANEL_TOKENS.hashOf(token))).sessions.isLive(token),
      async revoke(session) {
        const { sessionHash } = session
        const [place] = await directory.find('session', sessionHash)
        await at(place?.home ?? MAIN).sessions.revoke(session)
        if (place) await release('session', sessionHash, place.companyId)
      },
    },
    tokens: {
      issue: async (holder) => (await ofCompany(holder.companyId)).tokens.issue(holder),
      find: async (token) => (await ofKey('sync_token', TILL_TOKENS.hashOf(token))).tokens.find(token),
      async renew(session) {
        const renewed = await (await ofCompany(session.companyId)).tokens.renew(session)
        if (renewed) await release('sync_token', session.tokenHash, session.companyId)
        return renewed
      },
      async revoke(session) {
        await (await ofCompany(session.companyId)).tokens.revoke(session)
        await release('sync_token', session.tokenHash, session.companyId)
      },
    },
    invitations: {
      create: () => at(MAIN).invitations.create(),
      send: async (invitation, to) => (await ofCompany(to.companyId)).invitations.send(invitation, to),
      find: async (token) => (await ofKey('invitation', INVITATION_TOKENS.hashOf(token))).invitations.find(token),
      accept: async (token, password, from) =>
        (await ofKey('invitation', INVITATION_TOKENS.hashOf(token))).invitations.accept(token, password, from),
    },
    passwordLinks: createPasswordLinks({ pool: homes.main.pool, writer, login, mailer, publicUrl, log }),
  }
}
