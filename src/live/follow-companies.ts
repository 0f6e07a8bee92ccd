import type { Pool } from 'pg'
import { Unavailable } from '#lib/unavailable.ts'
import { listen } from '#postgres/listener.ts'
import { NEWS_CHANNEL, type News, newsOf } from './payload.ts'

/** Pages that follow a company, and all that this process serves. */
const FOLLOWERS_OF_COMPANY = 100
const FOLLOWERS = 5_000

/** Somebody who waits for news of a company, as an open page. Neither may throw. */
export interface Follower {
  /** The ledger has come to this revision; many may be told as one. */
  told(revision: number): void
  /** No more news: the process is stopping. */
  ended(): void
}

/** Tells whoever follows a company how far its ledger has come. */
export interface CompanyNews {
  /**
   * Tells each revision beyond `since` that is heard of, at once if the ledger is there already: nothing that was committed after
   * `since` is missed. Returns what ends it.
   * @throws Unavailable when too many follow, or the process is stopping.
   */
  follow(companyId: number, since: number, follower: Follower): () => void
  /** Ends all that follow. */
  close(): Promise<void>
}

export interface NewsOptions {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly onError: (error: unknown) => void
}

interface Following {
  /** The last revision that was told. */
  known: number
  readonly follower: Follower
}

/** Hears the news of all processes on one connection; where some may have been missed, it looks at the ledgers themselves. */
export function followCompanies({ databaseUrl, pool, onError }: NewsOptions): CompanyNews {
  const companies = new Map<number, Set<Following>>()
  let count = 0
  let closed = false

  function publish(news: readonly News[]): void {
    for (const { companyId, revision } of news) {
      for (const following of companies.get(companyId) ?? []) {
        if (revision <= following.known) continue
        following.known = revision
        following.follower.told(revision)
      }
    }
  }

  async function look(companyIds: readonly number[]): Promise<void> {
    if (companyIds.length === 0) return
    try {
      const { rows } = await pool.query<News>({ ...LOOK, values: [companyIds] })
      publish(rows)
    } catch (error) {
      onError(error)
    }
  }

  const listener = listen({
    databaseUrl,
    channel: NEWS_CHANNEL,
    application_name: 'tillbook news',
    onNotification(message) {
      const news = message === null ? null : newsOf(message)
      if (news) publish(news)
      else void look([...companies.keys()])
    },
    onError,
  })

  return {
    follow(companyId, since, follower) {
      const ofCompany = companies.get(companyId) ?? new Set()
      if (closed || count >= FOLLOWERS || ofCompany.size >= FOLLOWERS_OF_COMPANY)
        throw new Unavailable('no more pages can follow')
      const following: Following = { known: since, follower }
      companies.set(companyId, ofCompany.add(following))
      count += 1
      void look([companyId])
      return () => {
        if (!ofCompany.delete(following)) return
        count -= 1
        if (ofCompany.size === 0) companies.delete(companyId)
      }
    },
    async close() {
      closed = true
      const left = [...companies.values()].flatMap((ofCompany) => [...ofCompany])
      companies.clear()
      for (const { follower } of left) follower.ended()
      await listener.close()
    },
  }
}

const LOOK = {
  name: 'look_for_news',
  text: `select company_id as "companyId", revision from ops.ledgers where company_id = any($1::bigint[])`,
}
